// A rank of allreduce.py. Prints the seconds of each list as a JSON array.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/allreduce_rank.h"

namespace {

using shoal::Result;
using shoal::bench::AllReduceRankOptions;
using shoal::bench::Packing;

int Report(const Result<std::vector<double>>& seconds) {
  if (seconds.ok()) {
    std::printf("%s\n", nlohmann::json(*seconds).dump().c_str());
    return 0;
  }
  std::fprintf(stderr, "allreduce: %s\n", seconds.status().ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"One rank of an all-reduce; ./dev bench allreduce starts them.", "allreduce"};
  AllReduceRankOptions options;
  std::string identities;
  std::string lists;
  bool mpi = false;
  app.add_option("--make-identities", identities, "Write keys for the ranks into this folder");
  app.add_option("--rank", options.rank, "Of this process");
  app.add_option("--addresses", options.addresses, "Of all ranks: ADDRESS:PORT,…")->delimiter(',');
  app.add_option("--tls", options.tls,
                 "The folder with the keys; without it, nothing is encrypted");
  app.add_option("--lists", lists, "Elements of the gradients of each case: [[100, 20], …]");
  app.add_option("--packing", options.packing, "How a list is added up")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Packing>{{"ring", Packing::kRing},
                                                                 {"packed", Packing::kPacked},
                                                                 {"each", Packing::kEach},
                                                                 {"buckets", Packing::kBuckets}}));
  app.add_option("--piece", options.piece_elements, "Elements of a message");
  app.add_option("--ahead", options.ahead, "Messages under way");
  app.add_flag("--mpi", mpi, "By MPI_Allreduce, started by mpirun");
  CLI11_PARSE(app, argc, argv);
  if (!identities.empty()) {
    const shoal::Status made = shoal::bench::MakeIdentities(identities, options.addresses.size());
    return Report(made.ok() ? Result<std::vector<double>>(std::vector<double>()) : made);
  }
  const nlohmann::json parsed = nlohmann::json::parse(lists, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array() || (!mpi && options.rank >= options.addresses.size())) {
    std::fprintf(stderr, "allreduce: started by ./dev bench allreduce, with --lists and a rank\n");
    return 2;
  }
  options.lists = parsed.get<std::vector<std::vector<std::size_t>>>();
  return Report(mpi ? shoal::bench::RunMpiAllReduceRank(options.lists)
                    : shoal::bench::RunAllReduceRank(options));
}
