// `shoal pull`: brings a model onto this device.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/loop.h"
#include "os/net/http_client.h"
#include "os/sha256.h"
#include "shoal/commands.h"
#include "shoal/pull_choice.h"
#include "shoal/pull_download.h"
#include "shoal/pull_hub.h"

namespace shoal {
namespace {

struct PullOptions {
  std::string what;
  std::string out;
  std::string sha256;
  std::string endpoint;
  std::string revision = "main";
  std::string dns;
  std::string ca;
  int retries = 5;
  double retry_wait_s = 1;
  double silence_s = 60;
  bool force = false;
  bool json = false;
};

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Result<os::HttpClient::Options> ClientOptions(const PullOptions& options) {
  os::HttpClient::Options client;
  client.silence_max = Seconds(options.silence_s);
  const std::string prefix = Environment("PREFIX");  // Termux's.
  SHOAL_ASSIGN_OR_RETURN(client.resolver, os::SystemResolver(options.dns, prefix));
  if (!options.ca.empty()) {
    SHOAL_ASSIGN_OR_RETURN(client.trusted, os::CaCertificates::Load(options.ca));
    return client;
  }
  auto trusted = os::CaCertificates::LoadFirst(os::CaPaths(Environment("SSL_CERT_FILE"), prefix));
  if (trusted.ok()) {
    client.trusted = *std::move(trusted);
  } else {
    client.why_none_trusted = std::string(trusted.status().message()) + "; give --ca FILE";
  }
  return client;
}

Result<Hub> HubFor(const PullOptions& options) {
  std::string endpoint = options.endpoint;
  if (endpoint.empty()) endpoint = Environment("HF_ENDPOINT");
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  Hub hub{.endpoint = {}, .revision = options.revision, .token = Environment("HF_TOKEN")};
  SHOAL_ASSIGN_OR_RETURN(hub.endpoint, ParseEndpointUrl(endpoint));
  return hub;
}

class Pull {
 public:
  Pull(const PullOptions& options, Hub hub, os::HttpClient::Options client)
      : options_(options),
        hub_(std::move(hub)),
        client_(loop_, std::move(client)),
        terminal_(::isatty(STDERR_FILENO) != 0) {}

  Result<std::vector<Download>> Run() {
    if (options_.what.find("://") != std::string::npos) return PullUrl();
    return PullRepository();
  }

 private:
  Progress MakeProgress(const std::string& name) const {
    return Progress(loop_, name, terminal_, options_.json);
  }
  Backoff MakeBackoff() const { return {options_.retries, Seconds(options_.retry_wait_s)}; }

  DownloadJob JobFor(const os::Url& url) const {
    return {.url = url,
            .private_headers = TokenFor(hub_, url),
            .out = {},
            .sha256 = options_.sha256,
            .size = {},
            .replace = options_.force,
            .tries = options_.retries,
            .first_wait = Seconds(options_.retry_wait_s)};
  }

  // --out, or in the folder --out, or here. Empty: no name is known.
  std::string OutFor(const std::string& name) const {
    std::error_code error;
    if (options_.out.empty()) return name;
    if (!options_.out.ends_with('/') && !std::filesystem::is_directory(options_.out, error)) {
      return options_.out;
    }
    return name.empty() ? name : (std::filesystem::path(options_.out) / name).string();
  }

  Result<Download> Fetch(const DownloadJob& job) {
    Progress progress = MakeProgress(job.out);
    auto done = DownloadFile(loop_, client_, job, progress);
    progress.End();
    return done;
  }

  Result<std::vector<Download>> PullUrl() {
    SHOAL_ASSIGN_OR_RETURN(const os::Url given, os::ParseUrl(options_.what));
    DownloadJob job = JobFor(WithoutPage(hub_, given));
    job.out = OutFor(os::FileNameOf(job.url));
    if (job.out.empty()) {
      return Status(Code::kInvalidArgument,
                    job.url.ToString() + " does not end with a name: give one with --out");
    }
    SHOAL_ASSIGN_OR_RETURN(Download done, Fetch(job));
    return std::vector{std::move(done)};
  }

  Result<std::vector<Download>> PullRepository() {
    SHOAL_ASSIGN_OR_RETURN(const RepositoryId id, ParseRepositoryId(options_.what));
    Progress progress = MakeProgress(id.ToString());
    bool unreachable = false;
    const auto files =
        ListRepository(loop_, client_, hub_, id, MakeBackoff(), progress, unreachable);
    if (!files.ok()) return unreachable ? WithAdvice(files.status(), id) : files.status();
    SHOAL_ASSIGN_OR_RETURN(const Choice choice, ChooseFiles(id, *files));
    SHOAL_ASSIGN_OR_RETURN(const std::vector<DownloadJob> jobs, JobsFor(id, choice));
    SHOAL_RETURN_IF_ERROR(CheckRoomForAll(jobs));
    std::vector<Download> all;
    for (const DownloadJob& job : jobs) {
      SHOAL_ASSIGN_OR_RETURN(Download done, Fetch(job));
      all.push_back(std::move(done));
    }
    return all;
  }

  // What to do by hand where the hub cannot be reached.
  Status WithAdvice(const Status& failure, const RepositoryId& id) const {
    const bool named = Lower(id.file).ends_with(".gguf");
    const auto url = FileUrl(hub_, id, named ? id.file : "FILE");
    if (!url.ok()) return failure;
    const std::string page = named ? ""
                                   : " with a file of " + hub_.endpoint.ToString() + "/" +
                                         id.ToString() + "/tree/" + hub_.revision;
    const std::string out = OutFor(named ? os::FileNameOf(*url) : "FILE");
    return {failure.code(), fmt::format("{}; without shoal{}: {}", failure.message(), page,
                                        CurlLine(*url, out, !TokenFor(hub_, *url).empty()))};
  }

  Result<std::vector<DownloadJob>> JobsFor(const RepositoryId& id, const Choice& choice) const {
    std::string folder;
    if (!choice.folder.empty()) {
      folder = options_.out.empty() ? choice.folder : options_.out;
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      if (error) return Status(Code::kUnavailable, error.message() + ": " + folder);
      if (!options_.sha256.empty()) {
        return Status(Code::kInvalidArgument, "--sha256 is for one file, and these are several");
      }
    }
    std::vector<DownloadJob> jobs;
    for (const RemoteFile& file : choice.files) {
      SHOAL_ASSIGN_OR_RETURN(const os::Url url, FileUrl(hub_, id, file.path));
      const std::string name = os::FileNameOf(url);
      if (name.empty()) {
        return Status(Code::kInvalidArgument, id.ToString() + " has a file with a bad name");
      }
      DownloadJob job = JobFor(url);
      job.out = folder.empty() ? OutFor(name) : (std::filesystem::path(folder) / name).string();
      job.size = file.size;
      if (job.sha256.empty() && os::IsSha256(file.sha256)) job.sha256 = Lower(file.sha256);
      // Small files have no hash in the listing: they come anew, in case they have changed.
      if (job.sha256.empty() && !folder.empty()) job.replace = true;
      jobs.push_back(std::move(job));
    }
    return jobs;
  }

  // Before the first of several: what is not on the disk in whole or in part.
  static Status CheckRoomForAll(const std::vector<DownloadJob>& jobs) {
    std::uint64_t missing = 0;
    for (const DownloadJob& job : jobs) {
      std::uint64_t here = 0;
      for (const std::string& path : {job.out, job.out + ".part"}) {
        std::error_code error;
        const auto size = std::filesystem::file_size(path, error);
        if (!error) here = std::max<std::uint64_t>(here, size);
      }
      missing += job.size.value_or(0) - std::min(here, job.size.value_or(0));
    }
    return CheckRoom(jobs.front().out, missing);
  }

  const PullOptions& options_;
  const Hub hub_;
  os::Loop loop_;
  os::HttpClient client_;
  const bool terminal_;
};

void Print(const std::vector<Download>& files, bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Download& file : files) {
    if (json) {
      list.push_back({{"path", file.path},
                      {"bytes", file.bytes},
                      {"sha256", file.sha256},
                      {"verified", file.verified},
                      {"already_there", file.already_there}});
    } else {
      fmt::print("{}: {}, SHA-256 {} {}{}\n", file.path, BytesText(file.bytes), file.sha256,
                 file.verified ? "as expected" : "(nothing to compare it with)",
                 file.already_there ? ", was there already" : "");
    }
  }
  if (!json) return;
  const nlohmann::ordered_json object = {{"files", std::move(list)}};
  fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status RunPull(PullOptions options) {
  if (!options.sha256.empty() && !os::IsSha256(options.sha256)) {
    return {Code::kInvalidArgument, "--sha256 takes 64 hexadecimal digits"};
  }
  options.sha256 = Lower(options.sha256);
  SHOAL_ASSIGN_OR_RETURN(Hub hub, HubFor(options));
  SHOAL_ASSIGN_OR_RETURN(os::HttpClient::Options client, ClientOptions(options));
  Pull pull(options, std::move(hub), std::move(client));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Download> files, pull.Run());
  Print(files, options.json);
  return {};
}

}  // namespace

void AddPull(CLI::App& app) {
  CLI::App* command = app.add_subcommand("pull", "Bring a model onto this device");
  auto options = std::make_shared<PullOptions>();
  command
      ->add_option("model", options->what,
                   "A URL, or OWNER/NAME or OWNER/NAME:FILE of Hugging Face, where FILE may be a "
                   "quantisation such as Q4_K_M")
      ->required();
  command->add_option("--out", options->out, "The file, or the folder, to write");
  command->add_option("--sha256", options->sha256, "The hash that the file must have");
  command->add_option("--endpoint", options->endpoint,
                      "Instead of $HF_ENDPOINT or https://huggingface.co");
  command->add_option("--revision", options->revision, "A branch, a tag or a commit")
      ->capture_default_str();
  command->add_option("--dns", options->dns, "A DNS server, e.g. 1.1.1.1");
  command->add_option("--ca", options->ca,
                      "Certificates of authorities to trust: a file or folder");
  command->add_option("--retries", options->retries, "Give up after so many failures in a row")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_option("--retry-wait", options->retry_wait_s, "Seconds before the first retry")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--silence", options->silence_s, "Seconds without a byte that are a failure")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace a file that is there");
  command->add_flag("--json", options->json, "Print one JSON object at the end");
  command->callback([options] { ExitOnError(RunPull(*options)); });
}

}  // namespace shoal
