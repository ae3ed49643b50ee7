#include "os/machine/machine_info.h"

#include <sys/utsname.h>

namespace shoal::os {
namespace {

std::string KernelName() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

Result<std::string> ReadModel(const SysRoot& root) {
  Result<std::string> board = root.ReadText("/proc/device-tree/model");  // ARM
  if (board.ok() && !board->empty()) return board;
  Result<std::string> product = root.ReadText("/sys/class/dmi/id/product_name");  // x86
  if (product.ok() && !product->empty()) return product;
  if (!board.ok()) return std::move(board).status();
  return Status(Code::kNotFound, "the firmware names no model");
}

}  // namespace

MachineInfo ReadMachineInfo(const SysRoot& root) {
  CpuInfo cpu = ReadCpuInfo(root);
  const std::vector<int> cores = FastestCores(cpu, cpu.cores.size());
  return MachineInfo{.kernel = KernelName(),
                     .model = ReadModel(root),
                     .cpu = std::move(cpu),
                     .sensors = ReadSensors(root, cores)};
}

}  // namespace shoal::os
