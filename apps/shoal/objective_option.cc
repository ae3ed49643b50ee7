#include "shoal/objective_option.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <string>

#include "shoal/plan_report.h"

namespace shoal {

void AddObjectiveOption(CLI::App& command, pipeline::Objective& objective) {
  using pipeline::Objective;
  command
      .add_option_function<std::string>(
          "--objective",
          [&objective](const std::string& word) {
            for (const Objective known :
                 {Objective::kTimePerToken, Objective::kFirstToken, Objective::kThroughput}) {
              if (Name(known) != word) continue;
              objective = known;
              return;
            }
            throw CLI::ValidationError(fmt::format(
                "--objective {}: wanted time-per-token, first-token or throughput", word));
          },
          "What is to be best: time-per-token, first-token or throughput")
      ->type_name("WORD");
}

}  // namespace shoal
