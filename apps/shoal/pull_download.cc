#include "shoal/pull_download.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "os/file.h"
#include "os/resumable_file.h"
#include "os/sha256.h"
#include "shoal/pull_choice.h"

namespace shoal {
namespace {

constexpr std::size_t kInfoBytesMax = std::size_t{64} << 10;
constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
// A disk that is full to the last byte makes everything else fail.
constexpr std::uint64_t kSpareBytes = std::uint64_t{16} << 20;

// Feeds a file that is there into `hash`; how many bytes it had.
Result<std::uint64_t> HashFile(const std::string& path, os::Sha256& hash, Progress& progress) {
  SHOAL_ASSIGN_OR_RETURN(os::File file, os::File::Open(path));
  std::vector<std::byte> buffer(kBufferBytes);
  std::uint64_t bytes = 0;
  for (;;) {
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n, file.Read(buffer));
    if (n == 0) return bytes;
    hash.Update(std::span(buffer).first(n));
    bytes += n;
    progress.Update(bytes, file.size());
  }
}

class Downloader {
 public:
  Downloader(os::Loop& loop, os::HttpClient& client, const DownloadJob& job, Progress& progress,
             os::ResumableFile part)
      : loop_(loop),
        client_(client),
        job_(job),
        progress_(progress),
        part_(std::move(part)),
        sha256_(job.sha256) {}

  Status Run() {
    SHOAL_RETURN_IF_ERROR(LoadPart());
    Backoff backoff(job_.tries, job_.first_wait);
    std::uint64_t most = part_.size();
    for (;;) {
      if (job_.size && part_.size() == *job_.size) return {};
      retry_after_.clear();
      bool again = false;
      const Status status = Attempt(again);
      if (status.ok() || !again) return status;
      // Progress is more than there ever was: a server that begins anew each time and breaks
      // off makes none.
      if (part_.size() > most) backoff.Reset();
      most = std::max(most, part_.size());
      SHOAL_RETURN_IF_ERROR(WaitToRetry(loop_, backoff, progress_, status, retry_after_));
    }
  }

  // After `failure`: leaves nothing behind if nothing has come, and says what else to try
  // if the server could not be reached.
  Status Abandon(const Status& failure) {
    if (part_.size() == 0) {
      RemoveInfo();
      (void)part_.Remove();
    }
    if (!unreachable_) return failure;
    return {failure.code(), std::string(failure.message()) +
                                "; without shoal: " + CurlLine(job_.url, job_.out, has_token())};
  }

  // Gives the file its name, if it is what it should be.
  Result<Download> Finish() {
    Download done{.path = job_.out, .bytes = part_.size(), .sha256 = hash_.Finish()};
    done.verified = !sha256_.empty();
    if (done.verified && done.sha256 != sha256_) {
      RemoveInfo();
      SHOAL_RETURN_IF_ERROR(part_.MoveTo(job_.out + ".wrong"));
      return Status(Code::kCorruption,
                    fmt::format("{}: SHA-256 is {}, expected {}; kept as {}.wrong, delete it and "
                                "pull again, or correct --sha256",
                                UrlText(), done.sha256, sha256_, job_.out));
    }
    SHOAL_RETURN_IF_ERROR(CheckKind());
    SHOAL_RETURN_IF_ERROR(part_.MoveTo(job_.out));
    RemoveInfo();
    return done;
  }

 private:
  bool has_token() const { return !job_.private_headers.empty(); }
  std::string UrlText() const { return job_.url.ToString(); }
  std::string InfoPath() const { return part_.path() + ".json"; }
  void RemoveInfo() const { (void)std::remove(InfoPath().c_str()); }

  // What an earlier run has left, if it can be gone on with.
  Status LoadPart() {
    const auto text = os::ReadFile(InfoPath(), kInfoBytesMax);
    info_ = text.ok() ? ParsePartInfo(*text) : PartInfo();
    const bool too_long = job_.size && part_.size() > *job_.size;
    if (too_long || !MayResume(info_, UrlText(), sha256_)) return StartOver();
    if (part_.size() == 0) return {};
    progress_.Say(fmt::format("{}: {} are here already", job_.out, BytesText(part_.size())));
    return HashFile(part_.path(), hash_, progress_).status();
  }

  Status StartOver() {
    info_ = {};
    hash_ = os::Sha256();
    return part_.Clear();
  }

  // One request, and as much of the body as comes. `again`: a failure may pass.
  Status Attempt(bool& again) {
    os::HttpRequest request{
        .url = job_.url, .headers = {}, .private_headers = job_.private_headers};
    if (part_.size() > 0) request.headers = ResumeHeaders(info_, sha256_, part_.size());
    auto response = client_.Get(request);
    if (!response.ok()) {
      again = response.status().code() == Code::kUnavailable ||
              response.status().code() == Code::kDeadlineExceeded;
      unreachable_ = true;
      return std::move(response).status();
    }
    unreachable_ = false;
    TakeHash(*response);
    const os::HttpHead& head = response->head();
    const Decision decision = DecideNext(head, response->size(), info_, sha256_, part_.size());
    switch (decision.next) {
      case Next::kComplete:
        return {};
      case Next::kFail: {
        retry_after_ = head.Header("Retry-After");
        Status failure = HttpFailure(head, has_token());
        again = failure.code() == Code::kUnavailable;
        return failure;
      }
      case Next::kAskAgain:
        again = true;
        SHOAL_RETURN_IF_ERROR(StartOver());
        return {Code::kUnavailable, UrlText() + ": the file has changed"};
      case Next::kStartOver:
        if (part_.size() > 0) progress_.Say(job_.out + ": the server sends it from the start");
        SHOAL_RETURN_IF_ERROR(StartOver());
        break;
      case Next::kAppend:
        break;
    }
    SHOAL_RETURN_IF_ERROR(Begin(head, decision.size));
    return ReadBody(*response, decision.size, again);
  }

  void TakeHash(const os::HttpResponse& response) {
    if (!sha256_.empty()) return;
    for (const os::HttpHead& head : response.redirects()) {
      if (sha256_.empty()) sha256_ = LinkedSha256(head);
    }
    if (sha256_.empty()) sha256_ = LinkedSha256(response.head());
  }

  // Before the first byte is written: is there room, and what will the bytes be.
  Status Begin(const os::HttpHead& head, std::optional<std::uint64_t> size) {
    const std::string_view encoding = head.Header("Content-Encoding");
    if (!encoding.empty() && encoding != "identity") {
      return {Code::kInvalidArgument,
              fmt::format("{}: the server compresses it ({})", UrlText(), encoding)};
    }
    if (job_.size && size && *size != *job_.size) {
      return {Code::kCorruption,
              fmt::format("{}: has {} bytes, expected {}; it was changed just now, pull again",
                          UrlText(), *size, *job_.size)};
    }
    if (size) SHOAL_RETURN_IF_ERROR(CheckRoom(job_.out, *size - part_.size()));
    info_ = {.url = UrlText(),
             .etag = std::string(head.Header("ETag")),
             .last_modified = std::string(head.Header("Last-Modified")),
             .sha256 = sha256_,
             .size = size};
    return os::WriteFileAtomically(InfoPath(), ToJson(info_), os::FileAccess::kEveryone);
  }

  Status ReadBody(os::HttpResponse& response, std::optional<std::uint64_t> size, bool& again) {
    std::vector<std::byte> buffer(kBufferBytes);
    for (;;) {
      progress_.Update(part_.size(), size);
      const auto n = response.Read(buffer);
      if (!n.ok()) {
        again = n.status().code() != Code::kInvalidArgument;
        return n.status();
      }
      if (*n == 0) break;
      const auto bytes = std::span(buffer).first(*n);
      SHOAL_RETURN_IF_ERROR(part_.Append(bytes).Annotate(
          "cannot write; what has come is kept, make room and pull again"));
      hash_.Update(bytes);
    }
    const auto expected = job_.size ? job_.size : size;
    if (!expected || part_.size() == *expected) return {};
    const std::uint64_t got = part_.size();
    SHOAL_RETURN_IF_ERROR(StartOver());
    return {Code::kCorruption,
            fmt::format("{}: {} bytes came, expected {}", UrlText(), got, *expected)};
  }

  // A login page or a text about a missing file under a model's name.
  Status CheckKind() {
    if (!job_.out.ends_with(".gguf")) return {};
    std::string magic(4, ' ');
    SHOAL_ASSIGN_OR_RETURN(const os::File file, os::File::Open(part_.path()));
    const Status read = file.ReadAt(0, std::as_writable_bytes(std::span(magic)));
    if (read.ok() && magic == "GGUF") return {};
    RemoveInfo();
    SHOAL_RETURN_IF_ERROR(part_.Remove());
    return {Code::kCorruption, UrlText() + ": what the server sends is not a GGUF file"};
  }

  os::Loop& loop_;
  os::HttpClient& client_;
  const DownloadJob& job_;
  Progress& progress_;
  os::ResumableFile part_;
  std::string sha256_;        // Expected; from the job or from the server.
  PartInfo info_;             // Of the bytes in part_.
  os::Sha256 hash_;           // Of the bytes in part_.
  std::string retry_after_;   // Of the last answer.
  bool unreachable_ = false;  // No answer at all came to the last request.
};

// A file with the right hash need not come again. Nothing: it has to come.
Result<std::optional<Download>> LookForFile(const DownloadJob& job, Progress& progress) {
  std::error_code error;
  if (!std::filesystem::exists(job.out, error)) return std::optional<Download>();
  if (!job.sha256.empty() && std::filesystem::is_regular_file(job.out, error)) {
    os::Sha256 hash;
    SHOAL_ASSIGN_OR_RETURN(const std::uint64_t bytes, HashFile(job.out, hash, progress));
    Download there{.path = job.out,
                   .bytes = bytes,
                   .sha256 = hash.Finish(),
                   .verified = true,
                   .already_there = true};
    if (there.sha256 == job.sha256) return std::optional(there);
  }
  if (job.replace) return std::optional<Download>();
  return Status(Code::kInvalidArgument,
                job.out + " is there already: give another name with --out, or --force");
}

}  // namespace

Status CheckRoom(const std::string& out, std::uint64_t bytes) {
  const std::string folder = std::filesystem::path(out).parent_path().string();
  const auto room = os::FreeSpace(folder.empty() ? "." : folder);
  if (!room.ok()) return {};  // A file system that does not say: writing will.
  if (*room >= kSpareBytes && *room - kSpareBytes >= bytes) return {};
  return {Code::kResourceExhausted,
          fmt::format("{}: {} more are needed, and the disk has {}: make room, or choose another "
                      "place with --out",
                      out, BytesText(bytes), BytesText(*room))};
}

std::string CurlLine(const os::Url& url, const std::string& out, bool with_token) {
  const auto quoted = [](const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
  };
  return fmt::format("curl -L -C - {}-o {} {}",
                     with_token ? "-H \"Authorization: Bearer $HF_TOKEN\" " : "", quoted(out),
                     quoted(url.ToString()));
}

Status WaitToRetry(os::Loop& loop, Backoff& backoff, Progress& progress, const Status& failure,
                   std::string_view retry_after) {
  const auto wait = backoff.Next(retry_after);
  if (!wait) return failure;
  progress.Say(fmt::format("{}; trying again in {:.0f} s", failure.message(), ToSeconds(*wait)));
  (void)loop.RunUntil([] { return false; }, *wait);
  return {};
}

Result<Download> DownloadFile(os::Loop& loop, os::HttpClient& client, const DownloadJob& job,
                              Progress& progress) {
  SHOAL_ASSIGN_OR_RETURN(auto there, LookForFile(job, progress));
  if (there) return *std::move(there);
  SHOAL_ASSIGN_OR_RETURN(os::ResumableFile part, os::ResumableFile::Open(job.out + ".part"));
  Downloader downloader(loop, client, job, progress, std::move(part));
  if (const Status status = downloader.Run(); !status.ok()) return downloader.Abandon(status);
  return downloader.Finish();
}

}  // namespace shoal
