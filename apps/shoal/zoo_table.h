// The paper's ten networks: what our files count to, beside its Table I.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal {

// What Table I says of a network.
struct PaperRow {
  std::string_view name;
  std::string_view zoo;  // Our directory.
  std::int64_t batch;    // Of one phone.
  std::size_t chunks;    // Blobs of parameters: what is reduced one by one.
  double mib;
  std::string_view deviation;  // Why we count something else; empty: we do not.
};

struct ZooRow {
  PaperRow paper;
  std::int64_t batch = 0;
  std::size_t blobs = 0;
  std::uint64_t elements = 0;
  std::vector<std::size_t> sizes;  // Elements of each blob, in order.
  double multiply_adds = 0;        // Of convolutions and inner products, forward, per image.

  double mib() const { return static_cast<double>(elements) * 4 / 0x1p20; }
  double gmac() const { return multiply_adds * 1e-9; }
};

// Builds each graph for one image and counts.
Result<std::vector<ZooRow>> CountZoo();

nlohmann::ordered_json ToJson(const std::vector<ZooRow>& rows);
std::string ToText(const std::vector<ZooRow>& rows);

}  // namespace shoal
