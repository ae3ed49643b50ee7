#include "contract/collective_cases.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "base/hash.h"

namespace shoal {
namespace {

using collective::Algorithm;
using collective::AllReduceOptions;
using collective::WireType;

constexpr std::size_t kErrorsMax = 5;
// Cases under way at once, and their memory.
constexpr std::size_t kCasesAtOnce = 4;
constexpr std::size_t kBytesAtOnce = std::size_t{128} << 20;

constexpr std::size_t kMebibyte = (std::size_t{1} << 20) / sizeof(float);

constexpr std::size_t kPeriod = 17;  // Of whole numbers.

float WholeNumber(std::size_t rank, std::size_t index) {
  return static_cast<float>((index + rank * 5) % kPeriod) - 8;
}
float Fraction(std::size_t rank, std::size_t index) {
  const std::uint64_t bits = Avalanche((index << 8U) + rank + 1) >> 40U;  // 24 of them.
  return static_cast<float>(bits) * 0x1p-23F - 1;
}
float InputOf(const CollectiveCase& which, std::size_t rank, std::size_t index) {
  return which.fractions ? Fraction(rank, index) : WholeNumber(rank, index);
}

// A large case is mostly this and Check: no division per element.
void FillInput(const CollectiveCase& which, std::size_t rank, std::span<float> values) {
  if (which.fractions) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = Fraction(rank, i);
    return;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(kPeriod, values.size()); ++i) {
    values[i] = WholeNumber(rank, i);
  }
  for (std::size_t i = kPeriod; i < values.size(); ++i) values[i] = values[i - kPeriod];
}

std::vector<std::uint64_t> GatherBegins(std::size_t elements, std::size_t ranks) {
  std::vector<std::uint64_t> begins;
  for (std::size_t r = 0; r <= ranks; ++r) begins.push_back(elements * r * r / (ranks * ranks));
  return begins;
}

struct NamedOptions {
  std::string name;
  AllReduceOptions options;
};

// Pieces so small that every ring has several, where there are elements enough.
std::vector<NamedOptions> Algorithms(std::size_t elements) {
  const collective::Pieces small = {.elements = elements <= 1000 ? std::size_t{16} : 4096,
                                    .ahead = 4};
  const collective::Pieces pieces = elements >= kMebibyte ? collective::Pieces{} : small;
  return {{"packed", {.pieces = {.elements = 0}}},
          {"ring", {.pieces = pieces}},
          {"halving", {.algorithm = Algorithm::kHalvingDoubling}},
          {"hierarchical", {.algorithm = Algorithm::kHierarchical, .pieces = pieces}},
          {"f16", {.pieces = pieces, .wire = WireType::kF16}}};
}

void AddOthers(std::size_t ranks, std::size_t elements, std::vector<CollectiveCase>& cases) {
  const std::string size = " of " + std::to_string(elements);
  for (const std::size_t root : std::set<std::size_t>{0, ranks / 2, ranks - 1}) {
    const std::string from = size + ", root " + std::to_string(root);
    cases.push_back({.name = "reduce" + from,
                     .operation = Operation::kReduce,
                     .elements = elements,
                     .root = root});
    cases.push_back({.name = "broadcast" + from,
                     .operation = Operation::kBroadcast,
                     .elements = elements,
                     .fractions = true,
                     .root = root});
  }
  cases.push_back({.name = "all-gather" + size,
                   .operation = Operation::kAllGather,
                   .elements = elements,
                   .fractions = true});
  cases.push_back({.name = "barrier", .operation = Operation::kBarrier});
}

// The sum over ranks of scale · input at `index`, and how far a result may be from it.
struct Expected {
  double sum = 0;
  double tolerance = 0;
};
Expected Sum(const CollectiveCase& which, std::size_t ranks, std::size_t index) {
  Expected expected;
  double magnitude = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const double value =
        static_cast<double>(which.options.scale) * static_cast<double>(InputOf(which, r, index));
    expected.sum += value;
    magnitude += std::abs(value);
  }
  if (!which.fractions) return expected;
  // Every addition rounds once, to 24 bits, and every message of F16 to 11; those so small that
  // F16 has fewer bits for them are off by a share of the largest sum instead.
  const auto n = static_cast<double>(ranks + 1);
  const bool f16 = which.options.wire == WireType::kF16;
  expected.tolerance = n * magnitude * (f16 ? 0x1p-11 : 0x1p-24) + (f16 ? n * n * 0x1p-24 : 0);
  return expected;
}

bool AllSizes() {
  return std::getenv("SHOAL_ALL_SIZES") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

std::vector<CollectiveCase> CollectiveCases(std::size_t ranks, bool large) {
  std::set<std::size_t> sizes = {0, 1, 7, ranks - 1, ranks + 1, 1000, 65537, kMebibyte};
  const bool all = AllSizes();
  if (all) sizes.insert(23 * kMebibyte + 4321);
  if (large || all) sizes.insert(64 * kMebibyte);
  std::vector<CollectiveCase> cases;
  for (const std::size_t elements : sizes) {
    for (const NamedOptions& algorithm : Algorithms(elements)) {
      if (elements > kMebibyte && !all && algorithm.options.algorithm != Algorithm::kRing) {
        continue;
      }
      const std::string name = algorithm.name + " of " + std::to_string(elements);
      cases.push_back({.name = name, .elements = elements, .options = algorithm.options});
      if (elements != 1000 && elements != 65537) continue;
      AllReduceOptions scaled = algorithm.options;
      scaled.scale = 0.375F;
      cases.push_back({.name = name + " fractions",
                       .elements = elements,
                       .options = scaled,
                       .fractions = true});
    }
    if (elements <= kMebibyte) AddOthers(ranks, elements, cases);
  }
  return cases;
}

Duration CollectiveLimit() {
  return AllSizes() ? Duration(std::chrono::hours(1)) : std::chrono::seconds(200);
}

std::vector<std::vector<std::uint32_t>> SwitchesOf(std::size_t ranks) {
  std::vector<std::vector<std::uint32_t>> switches((ranks + 2) / 3);
  for (std::uint32_t r = 0; r < ranks; ++r) switches[r * switches.size() / ranks].push_back(r);
  return switches;
}

struct CollectiveRank::Task {
  const CollectiveCase& which;
  std::vector<float> input = {};
  std::vector<float> output = {};
  std::vector<std::uint64_t> begins = {};
};

CollectiveRank::CollectiveRank(Clock& clock, Network& network, const collective::Group& group,
                               std::vector<CollectiveCase> cases, const AddressOf& address_of)
    : cases_(std::move(cases)),
      communicator_(clock, network, group),
      network_(network),
      tasks_(cases_.size()),
      fingerprints_(cases_.size()) {
  network_.Attach(this);
  for (std::size_t r = group.rank + 1; r < group.members.size(); ++r) {
    network_.Connect(group.members[r], address_of(group.members[r]));
  }
  BeginMore();
}

CollectiveRank::~CollectiveRank() { network_.Attach(nullptr); }

void CollectiveRank::OnPeerUp(NodeId peer) { communicator_.OnPeerUp(peer); }

void CollectiveRank::OnPeerDown(NodeId peer, const Status& why) {
  if (done()) return;  // Others may be quicker to leave.
  failed_ = true;
  errors_.push_back("node " + std::to_string(ToNumber(peer)) + " is down: " + why.ToString());
}

void CollectiveRank::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (traffic != Traffic::kActivations || collective::FrameEpoch(frame) != communicator_.epoch()) {
    errors_.emplace_back("a frame that is no collective's");
    return;
  }
  const Status status = communicator_.OnFrame(from, std::move(frame));
  if (!status.ok()) errors_.push_back(status.ToString());
}

void CollectiveRank::OnWritable(NodeId peer, Traffic traffic) {
  if (traffic == Traffic::kActivations) communicator_.OnWritable(peer);
}

void CollectiveRank::BeginMore() {
  while (begun_ < cases_.size() && begun_ - ended_ < kCasesAtOnce &&
         (begun_ == ended_ ||
          bytes_under_way_ + 2 * sizeof(float) * cases_[begun_].elements <= kBytesAtOnce)) {
    Begin(begun_++);
  }
}

void CollectiveRank::Begin(std::size_t index) {
  const CollectiveCase& which = cases_[index];
  tasks_[index] = std::make_unique<Task>(Task{.which = which});
  Task& task = *tasks_[index];
  task.output.resize(which.elements, -1);
  bytes_under_way_ += 2 * sizeof(float) * which.elements;
  auto done = [this, index](const Status& status) { End(index, status); };
  std::vector<float>& values =
      which.operation == Operation::kBroadcast || which.operation == Operation::kAllGather
          ? task.output
          : task.input;
  values.resize(which.elements);
  FillInput(which, communicator_.rank(), values);
  switch (which.operation) {
    case Operation::kAllReduce:
      return communicator_.AllReduce(task.input, task.output, which.options, done);
    case Operation::kReduce:
      return communicator_.Reduce(task.input, task.output, which.root, done);
    case Operation::kBroadcast:
      return communicator_.Broadcast(task.output, which.root, done);
    case Operation::kAllGather:
      task.begins = GatherBegins(which.elements, communicator_.size());
      return communicator_.AllGather(task.output, task.begins, done);
    case Operation::kBarrier:
      return communicator_.Barrier(done);
  }
}

void CollectiveRank::End(std::size_t index, const Status& status) {
  const std::unique_ptr<Task> task = std::move(tasks_[index]);
  if (status.ok()) {
    Check(*task);
  } else {
    Complain(task->which, status.ToString());
  }
  if (task->which.operation != Operation::kReduce) {
    Fingerprint fingerprint;
    fingerprint.AddBytes(std::as_bytes(std::span(task->output)));
    fingerprints_[index] = fingerprint.value();
  }
  bytes_under_way_ -= 2 * sizeof(float) * task->which.elements;
  ++ended_;
  BeginMore();
}

void CollectiveRank::Check(const Task& task) {
  const CollectiveCase& which = task.which;
  const std::span<const float> output = task.output;
  if (which.operation == Operation::kReduce && which.root != communicator_.rank()) return;
  std::size_t from = which.root;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const bool adds =
        which.operation == Operation::kAllReduce || which.operation == Operation::kReduce;
    if (adds && !which.fractions && i >= kPeriod && output[i] == output[i - kPeriod]) continue;
    while (!task.begins.empty() && task.begins[from + 1] <= i) ++from;
    const Expected expected = adds ? Sum(which, communicator_.size(), i)
                                   : Expected{.sum = static_cast<double>(InputOf(which, from, i))};
    const auto got = static_cast<double>(output[i]);
    if (std::abs(got - expected.sum) <= expected.tolerance) continue;
    return Complain(which, "element " + std::to_string(i) + " is " + std::to_string(got) +
                               ", not " + std::to_string(expected.sum));
  }
}

void CollectiveRank::Complain(const CollectiveCase& which, const std::string& what) {
  if (errors_.size() >= kErrorsMax) return;
  errors_.push_back("rank " + std::to_string(communicator_.rank()) + " of " +
                    std::to_string(communicator_.size()) + ", " + which.name + ": " + what);
}

}  // namespace shoal
