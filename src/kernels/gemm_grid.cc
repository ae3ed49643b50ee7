#include "kernels/gemm_grid.h"

#include <algorithm>
#include <limits>

namespace shoal::kernels {
namespace {

// In multiply-adds, of which a core does 32 in a cycle with AVX-512: what it costs a task
// to pack one element of B, and to get one of A from beyond its L2. Measured there; smaller
// with narrower vectors, which changes few decisions.
constexpr double kPackCost = 12;
constexpr double kReadCost = 8;

// Below this many multiply-adds one worker is done (3 µs with AVX-512, 30 on a phone)
// before another has woken up.
constexpr double kSerialWork = 1 << 18;

// From this many multiply-adds on (3 ms with AVX-512, 30 on a phone) a worker gets
// several tasks, so that slow cores and those lent to another program do fewer of them.
constexpr double kUnevenWork = 1 << 28;
constexpr std::size_t kTasksPerWorker = 4;

std::size_t CeilDiv(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

}  // namespace

GemmGrid ChooseGemmGrid(std::size_t m, std::size_t n, std::size_t k, std::size_t panel_columns,
                        std::size_t workers) {
  GemmGrid best{m, n};
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (workers == 1 || work < kSerialWork) return best;
  const std::size_t tasks_max = kTasksPerWorker * workers;
  const std::size_t tasks_min = work < kUnevenWork ? 1 : tasks_max / 2;
  double best_cost = std::numeric_limits<double>::infinity();
  for (std::size_t across = 1; across <= tasks_max; ++across) {
    const std::size_t columns = CeilDiv(CeilDiv(n, across), panel_columns) * panel_columns;
    for (std::size_t down = CeilDiv(tasks_min, across); down * across <= tasks_max; ++down) {
      const std::size_t rows = CeilDiv(m, down);
      const std::size_t tasks = CeilDiv(m, rows) * CeilDiv(n, columns);
      const auto r = static_cast<double>(rows);
      const auto c = static_cast<double>(columns);
      const double cost =
          static_cast<double>(CeilDiv(tasks, workers)) * (r * c + kPackCost * c + kReadCost * r);
      if (cost < best_cost) {
        best_cost = cost;
        best = {rows, std::min(columns, n)};
      }
    }
  }
  return best;
}

}  // namespace shoal::kernels
