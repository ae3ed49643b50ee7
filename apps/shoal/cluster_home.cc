#include "shoal/cluster_home.h"

#include <CLI/CLI.hpp>
#include <sys/utsname.h>

#include <cstdlib>

#include "os/machine/machine_info.h"
#include "os/machine/sys_root.h"
#include "wire/enrol.h"

namespace shoal {
namespace {

bool IsUsable(const std::string& name) {
  return !name.empty() && name.size() <= wire::kDeviceNameBytesMax && wire::IsPlainText(name);
}

}  // namespace

void AddDirOption(CLI::App& command, std::string& dir) {
  command.add_option("--dir", dir, "Where the cluster's files are ($SHOAL_HOME, or ~/.shoal)")
      ->type_name("DIR");
}

Result<std::string> ClusterHome(const std::string& dir) {
  if (!dir.empty()) return dir;
  if (const char* home = std::getenv("SHOAL_HOME"); home != nullptr && *home != '\0') {
    return std::string(home);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.shoal";
  }
  return Status(Code::kInvalidArgument, "there is no home directory; name one with --dir");
}

std::string CacheDirectory(const std::string& home) { return home + "/cache"; }

std::string DefaultDeviceName() {
  utsname system{};
  if (::uname(&system) == 0) {
    const std::string host = static_cast<const char*>(system.nodename);
    if (IsUsable(host) && host != "localhost" && host != "(none)") return host;
  }
  const Result<std::string> model = os::ReadMachineInfo(os::SysRoot()).model;
  return model.ok() && IsUsable(*model) ? *model : "device";
}

}  // namespace shoal
