#include "shoal/link_shape.h"

#include <CLI/CLI.hpp>

namespace shoal {

void AddLinkShapeOptions(CLI::App& command, os::LinkShape& shape) {
  command
      .add_option_function<double>(
          "--delay-ms",
          [&shape](double ms) { shape.delay = Duration(static_cast<Duration::rep>(ms * 1e6)); },
          "What every frame takes longer, one way; for trials")
      ->check(CLI::Range(0.0, 10'000.0));
  command
      .add_option_function<double>(
          "--megabits", [&shape](double megabits) { shape.bits_per_second = megabits * 1e6; },
          "A second, of every link and direction; for trials")
      ->check(CLI::Range(0.0, 1e6));
}

}  // namespace shoal
