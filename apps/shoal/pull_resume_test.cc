#include "shoal/pull_resume.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

const std::string kHash(64, 'a');
const std::string kUrl = "https://h/m.gguf";

PartInfo Info() {
  return {.url = kUrl, .etag = "\"v1\"", .last_modified = "Mon", .sha256 = {}, .size = 100};
}

os::HttpHead Head(int status, os::HttpHeaders headers = {}) {
  return {.url = *os::ParseUrl(kUrl), .status = status, .headers = std::move(headers)};
}

Next After(const os::HttpHead& head, std::uint64_t bytes, const PartInfo& info = Info(),
           const std::string& sha256 = {}) {
  return DecideNext(head, 100, info, sha256, bytes).next;
}

TEST(PullResumeTest, TheInfoReadsWhatItWrites) {
  EXPECT_EQ(ParsePartInfo(ToJson(Info())), Info());
  PartInfo info = Info();
  info.size.reset();
  info.sha256 = kHash;
  EXPECT_EQ(ParsePartInfo(ToJson(info)), info);
  for (const char* text : {"", "{", "[]", "{\"url\":5,\"size\":\"x\"}"}) {
    EXPECT_EQ(ParsePartInfo(text), PartInfo());
  }
  EXPECT_FALSE(MayResume(PartInfo(), kUrl, ""));
}

TEST(PullResumeTest, ResumesOnlyWhatCanBeRecognised) {
  EXPECT_TRUE(MayResume(Info(), kUrl, ""));
  EXPECT_TRUE(MayResume(Info(), kUrl, kHash));
  EXPECT_FALSE(MayResume(Info(), "https://h/other.gguf", ""));
  PartInfo info = Info();
  info.etag = "W/\"v1\"";
  EXPECT_TRUE(MayResume(info, kUrl, ""));  // By its date.
  info.last_modified.clear();
  EXPECT_FALSE(MayResume(info, kUrl, ""));
  info.sha256 = kHash;
  EXPECT_TRUE(MayResume(info, kUrl, kHash));
  EXPECT_FALSE(MayResume(info, kUrl, std::string(64, 'b')));
}

TEST(PullResumeTest, AsksForTheRestOfTheSameFile) {
  EXPECT_EQ(ResumeHeaders(Info(), "", 40),
            (os::HttpHeaders{{"Range", "bytes=40-"}, {"If-Range", "\"v1\""}}));
  PartInfo info = Info();
  info.etag.clear();
  EXPECT_EQ(ResumeHeaders(info, "", 40),
            (os::HttpHeaders{{"Range", "bytes=40-"}, {"If-Range", "Mon"}}));
  info.sha256 = kHash;
  EXPECT_EQ(ResumeHeaders(info, kHash, 40), (os::HttpHeaders{{"Range", "bytes=40-"}}));
}

TEST(PullResumeTest, AppendsWhatContinues) {
  const auto head = Head(206, {{"content-range", "bytes 40-99/100"}, {"ETag", "\"v1\""}});
  EXPECT_EQ(DecideNext(head, 60, Info(), "", 40), (Decision{.next = Next::kAppend, .size = 100}));
  EXPECT_EQ(After(Head(206, {{"Content-Range", "bytes 40-99/100"}}), 40), Next::kAppend);
}

TEST(PullResumeTest, StartsOverWhenTheServerSendsAll) {
  EXPECT_EQ(DecideNext(Head(200), 100, Info(), "", 40),
            (Decision{.next = Next::kStartOver, .size = 100}));
  EXPECT_EQ(After(Head(200), 0), Next::kStartOver);
}

TEST(PullResumeTest, AsksAgainWhenTheRestIsOfSomethingElse) {
  for (const char* range :
       {"", "bytes 39-99/100", "bytes 40-98/100", "bytes 40-99/101", "bytes 40-99/*",
        "bytes 40-30/100", "bytes */100", "bytes 40-99", "40-99/100", "bytes -/100",
        "bytes x-99/100", "bytes 40-99/99999999999999999999999"}) {
    EXPECT_EQ(After(Head(206, {{"Content-Range", range}}), 40), Next::kAskAgain) << range;
  }
  const std::string good = "bytes 40-99/100";
  EXPECT_EQ(After(Head(206, {{"Content-Range", good}, {"ETag", "\"v2\""}}), 40), Next::kAskAgain);
  EXPECT_EQ(After(Head(206, {{"Content-Range", good}, {"Last-Modified", "Tue"}}), 40),
            Next::kAskAgain);
  // A known hash says more than an ETag.
  PartInfo info = Info();
  info.sha256 = kHash;
  EXPECT_EQ(After(Head(206, {{"Content-Range", good}, {"ETag", "\"v2\""}}), 40, info, kHash),
            Next::kAppend);
}

TEST(PullResumeTest, NothingBehindTheEndMeansComplete) {
  EXPECT_EQ(After(Head(416, {{"Content-Range", "bytes */100"}}), 100), Next::kComplete);
  EXPECT_EQ(After(Head(416), 100), Next::kComplete);
  EXPECT_EQ(After(Head(416, {{"Content-Range", "bytes */90"}}), 100), Next::kAskAgain);
  EXPECT_EQ(After(Head(416, {{"Content-Range", "bytes */90"}}), 90), Next::kAskAgain);
  EXPECT_EQ(After(Head(416), 120), Next::kAskAgain);
  EXPECT_EQ(After(Head(416), 0), Next::kFail);
}

TEST(PullResumeTest, TellsErrorsApart) {
  for (const int status : {401, 403, 404, 429, 500, 302, 204, 206}) {
    EXPECT_EQ(After(Head(status), 0), Next::kFail) << status;
  }
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(HttpFailure(Head(status), false).code(), Code::kUnavailable) << status;
  }
  EXPECT_EQ(HttpFailure(Head(404), false).code(), Code::kNotFound);
  EXPECT_EQ(
      HttpFailure(Head(401), false).message(),
      "https://h/m.gguf: the server answers 401, unauthorised: there is no such repository, or "
      "it is private or gated; set HF_TOKEN to a token of your account");
  EXPECT_NE(HttpFailure(Head(401), true).message(), HttpFailure(Head(401), false).message());
}

TEST(PullResumeTest, TakesTheHubsHash) {
  EXPECT_EQ(LinkedSha256(Head(302, {{"X-Linked-Etag", '"' + std::string(64, 'A') + '"'}})), kHash);
  EXPECT_EQ(LinkedSha256(Head(302, {{"X-Linked-Etag", "\"abc\""}})), "");
  EXPECT_EQ(LinkedSha256(Head(302)), "");
}

TEST(PullBackoffTest, WaitsLongerEachTime) {
  using std::chrono::seconds;
  Backoff backoff(7, seconds(1));
  for (const int wait : {1, 2, 4, 8, 16, 30, 30}) EXPECT_EQ(backoff.Next(), seconds(wait));
  EXPECT_EQ(backoff.Next(), std::nullopt);
  backoff.Reset();
  EXPECT_EQ(backoff.Next("Wed, 21 Oct 2026 07:28:00 GMT"), seconds(1));
  EXPECT_EQ(backoff.Next("60"), seconds(60));
  EXPECT_EQ(backoff.Next("0"), seconds(4));
  EXPECT_EQ(backoff.Next("301"), std::nullopt);
}

}  // namespace
}  // namespace shoal
