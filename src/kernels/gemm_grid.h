// How the C of a GEMM is cut into tasks for several workers. Internal to kernels/.
#pragma once

#include <cstddef>

namespace shoal::kernels {

// A task computes `rows` × `columns` of C over all of k; at the edges of C less. It packs
// the columns of B that it needs for itself: tasks share nothing and never wait for each
// other, so that a GEMM wakes its workers once.
struct GemmGrid {
  std::size_t rows;
  std::size_t columns;  // A multiple of panel_columns, or n.
};

// The cut whose longest worker has least to do, where packing B costs more per column
// than reading A costs per row. REQUIRES: m, n and workers are not 0.
GemmGrid ChooseGemmGrid(std::size_t m, std::size_t n, std::size_t k, std::size_t panel_columns,
                        std::size_t workers);

}  // namespace shoal::kernels
