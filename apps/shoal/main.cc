#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstdio>
#include <string>

#include "shoal/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Turns a rack of old phones into one deep-learning machine.", "shoal"};
  app.require_subcommand(0, 1);  // Not 1: CLI11 would then not name an unknown command.
  shoal::AddVersion(app);
  shoal::AddDoctor(app);
  shoal::AddBench(app);
  shoal::AddSim(app);
  shoal::AddData(app);
  shoal::AddTime(app);
  shoal::AddZoo(app);
  shoal::AddClassify(app);
  shoal::AddTrain(app);
  shoal::AddTest(app);
  shoal::AddPlot(app);
  shoal::AddModel(app);
  shoal::AddPlan(app);
  shoal::AddPull(app);
  shoal::AddQuantize(app);
  shoal::AddChat(app);
  shoal::AddGenerate(app);
  shoal::AddPerplexity(app);
  shoal::AddTokenize(app);
  shoal::AddInit(app);
  shoal::AddToken(app);
  shoal::AddJoin(app);
  shoal::AddServe(app);
  shoal::AddStatus(app);
  shoal::AddNodes(app);
  shoal::AddUp(app);
  shoal::AddCache(app);
  if (const std::string warning = shoal::SlowKernelsWarning(); !warning.empty()) {
    fmt::print(stderr, "shoal: {}\n", warning);
  }
  CLI11_PARSE(app, argc, argv);
  if (!app.get_subcommands().empty()) return 0;
  fmt::print("{}", app.help());
  return 1;
}
