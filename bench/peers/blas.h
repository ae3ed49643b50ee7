// The libraries our GEMM is compared with, loaded when a benchmark asks for them, so that
// the program itself depends on neither. Static builds load none (no_blas.cc).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace shoal::bench {

// C[m, n] = A[m, k] · B[k, n], dense and row-major.
struct BlasProblem {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

struct BlasPeer {
  std::string name;
  std::function<void(std::size_t threads)> set_threads;
  std::function<void(const BlasProblem& problem)> multiply;
};

// Those that are installed. Sets the environment, and may bind the calling thread to its
// core: make threads of your own before.
std::vector<BlasPeer> LoadBlasPeers();

}  // namespace shoal::bench
