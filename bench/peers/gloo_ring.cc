// The peer of allreduce.py: gloo's ring, as PyTorch uses it on CPUs. A rank; finds the others by
// files in a folder. Prints the seconds of each case as a JSON array.
//
//   gloo_ring RANK RANKS FOLDER ADDRESS ELEMENTS…
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kWarmUpElements = std::size_t{1} << 20;
constexpr std::chrono::seconds kTimeout(600);

double Time(const std::shared_ptr<gloo::rendezvous::Context>& context, std::size_t elements) {
  std::vector<float> input(elements, 1);
  std::vector<float> output(elements);
  gloo::BarrierOptions barrier(context);
  gloo::barrier(barrier);
  const auto begin = Clock::now();
  gloo::AllreduceOptions options(context);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setInput(input.data(), elements);
  options.setOutput(output.data(), elements);
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  if (output.back() != static_cast<float>(context->size)) throw std::runtime_error("a wrong sum");
  return seconds.count();
}

void Run(char** arguments, int cases) {
  const int rank = std::atoi(arguments[1]);
  const int ranks = std::atoi(arguments[2]);
  gloo::rendezvous::FileStore store(arguments[3]);
  auto device = gloo::transport::tcp::CreateDevice(arguments[4]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(kTimeout);
  context->connectFullMesh(store, device);
  Time(context, kWarmUpElements);
  std::string seconds;
  for (int i = 0; i < cases; ++i) {
    seconds += (i == 0 ? "[" : ", ") +
               std::to_string(Time(context, std::strtoull(arguments[5 + i], nullptr, 10)));
  }
  gloo::BarrierOptions barrier(context);
  gloo::barrier(barrier);
  std::printf("%s]\n", seconds.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "gloo_ring RANK RANKS FOLDER ADDRESS ELEMENTS…\n");
    return 2;
  }
  try {
    Run(argv, argc - 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_ring: %s\n", error.what());
    return 1;
  }
  return 0;
}
