#include "bench/threads.h"

#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/pool_plan.h"
#include "os/thread_pool.h"

namespace shoal::bench {

std::unique_ptr<Parallel> MakePool(std::size_t threads) {
  const os::PoolPlan plan = os::PlanPool(os::ReadCpuInfo(os::SysRoot()), {.threads = threads});
  return std::make_unique<os::ThreadPool>(plan);
}

}  // namespace shoal::bench
