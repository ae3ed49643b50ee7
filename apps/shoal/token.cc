// `shoal token`: a line to type on a phone, with which it joins.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/cluster/head_directory.h"
#include "os/net/local_addresses.h"
#include "os/wall_clock.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/serve_file.h"

namespace shoal {
namespace {

struct TokenOptions {
  std::string dir;
  std::string address;
  std::uint64_t uses = 1;
  std::uint64_t minutes = 60;
  bool json = false;
};

constexpr std::uint64_t kMinutesMax = std::uint64_t{366} * 24 * 60;

// The port and, unless it listens everywhere, the address where the head that runs here, or ran
// last, lets new members in.
Result<std::vector<std::string>> Addresses(const std::string& given, const std::string& home) {
  if (!given.empty()) return std::vector{given};
  unsigned port = kEnrolPort;
  if (const Result<ServeAddresses> serving = ReadServeFile(home); serving.ok()) {
    const std::string& enrol = serving->enrol;
    const std::size_t colon = enrol.rfind(':');
    const std::string host = enrol.substr(0, colon);
    if (host != "0.0.0.0" && host != "[::]") return std::vector{enrol};
    port = static_cast<unsigned>(std::strtoul(enrol.c_str() + colon + 1, nullptr, 10));
  }
  std::vector<std::string> addresses = os::LocalAddresses();
  if (addresses.empty()) {
    return Status(Code::kUnavailable,
                  "this device is in no network; name the head's enrolment address with "
                  "--address HOST:PORT");
  }
  for (std::string& address : addresses) address = os::WithPort(address, port);
  return addresses;
}

void PrintForPeople(const TokenOptions& options, const std::vector<std::string>& addresses,
                    const std::string& token) {
  fmt::print("On the phone{}:\n\n",
             addresses.size() == 1 ? "" : ", the line with an address that it can reach");
  for (const std::string& address : addresses) fmt::print("  shoal join {} {}\n", address, token);
  fmt::print("\nGood for {} device{} within {} minutes, and as secret as a password.\n",
             options.uses, options.uses == 1 ? "" : "s", options.minutes);
}

Status Token(const TokenOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  SHOAL_ASSIGN_OR_RETURN(os::HeadDirectory directory, os::HeadDirectory::Open(home));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                         Addresses(options.address, home));
  constexpr os::UnixTime kSecondsPerMinute = 60;
  const os::UnixTime seconds = static_cast<os::UnixTime>(options.minutes) * kSecondsPerMinute;
  const os::UnixTime now = os::UnixNow();
  SHOAL_ASSIGN_OR_RETURN(const wire::JoinToken token,
                         directory.MakeToken(options.uses, seconds, now));
  const std::string text = wire::EncodeJoinToken(token);
  if (options.json) {
    const nlohmann::ordered_json object = {{"token", text},
                                           {"addresses", addresses},
                                           {"uses", options.uses},
                                           {"expires_at", now + seconds}};
    fmt::print("{}\n", object.dump());
  } else {
    PrintForPeople(options, addresses, text);
  }
  return {};
}

}  // namespace

void AddToken(CLI::App& app) {
  auto options = std::make_shared<TokenOptions>();
  CLI::App* command = app.add_subcommand("token", "Make a line with which a phone joins");
  AddDirOption(*command, options->dir);
  command->add_option("--uses", options->uses, "For how many devices")
      ->check(CLI::Range(std::uint64_t{1}, os::kTokenUsesMax))
      ->capture_default_str();
  command->add_option("--minutes", options->minutes, "For how long")
      ->check(CLI::Range(std::uint64_t{1}, kMinutesMax))
      ->capture_default_str();
  command
      ->add_option("--address", options->address,
                   "Where phones reach the head's enrolment port (this device's addresses)")
      ->type_name("HOST:PORT");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { ExitOnError(Token(*options)); });
}

}  // namespace shoal
