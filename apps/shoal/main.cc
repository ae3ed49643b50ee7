#include <CLI/CLI.hpp>

#include "shoal/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Turns a rack of old phones into one deep-learning machine.", "shoal"};
  app.require_subcommand(1);
  shoal::AddVersion(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
