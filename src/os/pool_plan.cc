#include "os/pool_plan.h"

#include <algorithm>

namespace shoal::os {

PoolPlan PlanPool(const CpuInfo& cpu, const PoolWish& wish) {
  std::size_t cores = FastestCores(cpu, cpu.cores.size()).size();
  if (cpu.quota_cores.ok() && *cpu.quota_cores < static_cast<double>(cores)) {
    cores = static_cast<std::size_t>(*cpu.quota_cores);
  }
  PoolPlan plan;
  plan.threads = wish.threads > 0 ? wish.threads : std::min(FastCoreCount(cpu), cores);
  if (wish.cpus > 0) plan.threads = std::min(plan.threads, wish.cpus);
  plan.threads = std::clamp<std::size_t>(plan.threads, 1, kPoolThreadsMax);
  plan.spin = plan.threads <= cores && wish.cpus == 0 && !wish.power_saving;
  if (plan.spin) plan.cores = FastestCores(cpu, plan.threads);
  return plan;
}

}  // namespace shoal::os
