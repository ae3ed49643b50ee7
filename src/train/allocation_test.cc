// A steady training step allocates nothing: after two steps that make and grow things, the thread
// that trains calls neither operator new nor malloc and its kin, whatever portable row of the
// convolution table computes and whatever solver updates.
//
// Not counted: threads that load data (they parse and decode each image), and rows that are not
// ours: oneDNN, OpenBLAS and OpenCL allocate as they like.
#include <cstdlib>
#include <new>

#include "nn/conv_support.h"
#include "train/train_testing.h"

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// The linker sends our calls of these here (--wrap), and those of static libraries.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);
void* __real_realloc(void* old, std::size_t size);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);

void* __wrap_malloc(std::size_t size) {
  ++allocations;
  return __real_malloc(size);
}
void* __wrap_calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __real_calloc(count, size);
}
void* __wrap_realloc(void* old, std::size_t size) {
  ++allocations;
  return __real_realloc(old, size);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++allocations;
  return __real_posix_memalign(memory, alignment, size);
}
// NOLINTEND(bugprone-reserved-identifier)
}

// The other forms of new and delete call these. Not inline: GCC takes the pair of new and free,
// seen together, for a mistake.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = __real_malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace shoal::train {
namespace {

// Most kinds of layers; convolutions for every row of the table.
std::string Net(const std::string& database) {
  return R"(name: "most"
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 12 mirror: true scale: 0.0078125 mean_value: 128 }
  data_param { source: ")" +
         database + R"(" batch_size: 4 backend: LMDB } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "depthwise" type: "Convolution" bottom: "conv" top: "depthwise"
  convolution_param { num_output: 12 group: 12 kernel_size: 3 pad: 1
    weight_filler { type: "msra" } } }
layer { name: "groups" type: "Convolution" bottom: "depthwise" top: "groups"
  convolution_param { num_output: 12 group: 3 kernel_size: 3 pad: 1
    weight_filler { type: "msra" } } }
layer { name: "sum" type: "Eltwise" bottom: "conv" bottom: "groups" top: "sum" }
layer { name: "lrn" type: "LRN" bottom: "sum" top: "lrn" }
layer { name: "max" type: "Pooling" bottom: "lrn" top: "max"
  pooling_param { kernel_size: 3 stride: 2 } }
layer { name: "within" type: "LRN" bottom: "max" top: "within"
  lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 } }
layer { name: "average" type: "Pooling" bottom: "max" top: "average"
  pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 } }
layer { name: "both" type: "Concat" bottom: "within" bottom: "average" top: "both" }
layer { name: "one" type: "Convolution" bottom: "both" top: "one"
  convolution_param { num_output: 7 kernel_size: 1 weight_filler { type: "msra" } } }
layer { name: "tanh" type: "TanH" bottom: "one" top: "one" }
layer { name: "flat" type: "Flatten" bottom: "one" top: "flat" }
layer { name: "drop" type: "Dropout" bottom: "flat" top: "flat" }
layer { name: "ip" type: "InnerProduct" bottom: "flat" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";
}

// The row of that name wherever it has the pass.
class Prefer final : public nn::ConvChooser {
 public:
  explicit Prefer(const kernels::ConvImplementation& row) : row_(row) {}
  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            nn::ConvDirection direction) override {
    if (!nn::Supports(row_, shape, direction, {})) return kernels::ConvImplementations().front();
    ++chosen_;
    return row_;
  }
  int chosen() const { return chosen_; }

 private:
  const kernels::ConvImplementation& row_;
  int chosen_ = 0;
};

// Three workers that take turns on the calling thread, which so does all that is counted.
class Turns final : public Parallel {
 public:
  std::size_t workers() const override { return 3; }
  void Run(std::size_t count, TaskRef task) override {
    for (std::size_t i = 0; i < count; ++i) task(i, i % workers());
  }
};

class AllocationTest : public TinyTraining {
 protected:
  // Of the thread that trains, after two steps.
  std::size_t AllocationsOf(int steps, const nn::SolverDef& solver, nn::ConvChooser& chooser) {
    const auto file = caffe::NetFile::Parse("most.prototxt", Net(database_));
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    auto network = file->Build({.phase = nn::Phase::kTrain});
    EXPECT_TRUE(network.ok()) << network.status().ToString();
    auto trainer = Trainer::Create({.solver = solver, .train = *std::move(network)}, {}, NoFiles,
                                   chooser, turns_);
    EXPECT_TRUE(trainer.ok()) << trainer.status().ToString();
    if (!trainer.ok()) return 0;
    Steps(2, **trainer);
    const std::size_t before = allocations;
    for (int i = 0; i < steps; ++i) {
      if (!(*trainer)->Step().ok()) ADD_FAILURE();
    }
    return allocations - before;
  }

  Turns turns_;
};

TEST_F(AllocationTest, AreCounted) {
  const std::size_t before = allocations;
  const auto number = std::make_unique<int>(1);
  std::vector<int> numbers(100);
  const auto buffer = AlignedBuffer::Make(64);
  EXPECT_EQ(allocations - before, 3U);
}

TEST_F(AllocationTest, NoneInAStepByAnyPortableRow) {
  for (const kernels::ConvImplementation& row : kernels::ConvImplementations()) {
    if (!row.portable) continue;
    SCOPED_TRACE(row.name);
    Prefer chooser(row);
    EXPECT_EQ(AllocationsOf(3, {.base_lr = 0.01F, .momentum = 0.9F}, chooser), 0U);
    EXPECT_GT(chooser.chosen(), 0);
  }
}

TEST_F(AllocationTest, NoneInAStepOfAnySolver) {
  nn::FirstSupported chooser;
  for (const auto kind :
       {nn::SolverKind::kSgd, nn::SolverKind::kNesterov, nn::SolverKind::kAdaGrad,
        nn::SolverKind::kRmsProp, nn::SolverKind::kAdaDelta, nn::SolverKind::kAdam}) {
    const nn::SolverDef solver{
        .kind = kind, .base_lr = 0.001F, .iter_size = 2, .clip_gradients = 1};
    EXPECT_EQ(AllocationsOf(3, solver, chooser), 0U) << static_cast<int>(kind);
  }
}

// What grows a little with every step shows up late.
TEST_F(AllocationTest, NoneInAHundredSteps) {
  nn::FirstSupported chooser;
  const nn::SolverDef solver{.base_lr = 0.001F, .average_loss = 2};
  EXPECT_EQ(AllocationsOf(100, solver, chooser), 0U);
}

}  // namespace
}  // namespace shoal::train
