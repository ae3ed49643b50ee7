#include "train/trainer.h"

#include <cstring>

#include "caffe/weights_file.h"
#include "train/train_testing.h"
#include "train/weights.h"

namespace shoal::train {
namespace {

const nn::SolverDef kSgd{.lr_policy = nn::LrPolicy::kMultiStep,
                         .base_lr = 0.05F,
                         .gamma = 0.5F,
                         .stepvalues = {7, 14},
                         .max_iter = 20,
                         .momentum = 0.9F,
                         .weight_decay = 0.001F,
                         .average_loss = 5};

class TrainerTest : public TinyTraining {
 protected:
  // Whether 10 steps, a snapshot and 10 more leave the bits that 20 steps do.
  void ExpectSameAfterResume(const nn::SolverDef& solver, bool test_between) {
    const auto whole = Make(solver);
    const auto first = Make(solver);
    for (Trainer* trainer : {whole.get(), first.get()}) {
      Steps(10, *trainer);
      if (test_between) {
        ASSERT_TRUE(trainer->Test().ok());
      }
    }
    Steps(10, *whole);
    const auto second = Resumed(solver, *first, true);
    Steps(10, *second);
    EXPECT_EQ(whole->iteration(), second->iteration());
    EXPECT_EQ(whole->rate(), second->rate());
    EXPECT_EQ(whole->smoothed_loss(), second->smoothed_loss());
    ExpectSameBits(*whole, *second);
  }

  std::unique_ptr<Trainer> Resumed(const nn::SolverDef& solver, Trainer& from, bool with_sidecar) {
    const std::string weights = from.WeightsBytes();
    const std::string state = from.StateBytes("tiny_iter_10.caffemodel");
    const std::string sidecar = WriteSidecar(from.MakeSidecar({}));
    auto to = Make(solver, {.seed = with_sidecar ? 1U : 7U});
    EXPECT_TRUE(to->LoadWeights("w", weights).ok());
    const auto read_state = caffe::ReadSolverState("s", state);
    const auto read_sidecar = ReadSidecar("j", sidecar);
    EXPECT_TRUE(read_state.ok() && read_sidecar.ok());
    std::optional<Sidecar> given;
    if (with_sidecar) given = *read_sidecar;
    const Status status = to->Resume("s", *read_state, given);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return to;
  }

  static void ExpectSameBits(Trainer& a, Trainer& b) {
    const auto x = a.params().values();
    const auto y = b.params().values();
    ASSERT_EQ(x.size(), y.size());
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size_bytes()), 0);
  }
};

TEST_F(TrainerTest, LossFalls) {
  nn::SolverDef solver = kSgd;
  solver.test_iter = {11};
  solver.max_iter = 100;
  const auto trainer = Make(solver);
  const auto before = trainer->Test();
  ASSERT_TRUE(before.ok());
  Steps(100, *trainer);
  const auto after = trainer->Test();
  ASSERT_TRUE(after.ok());
  ASSERT_EQ((*after)[0].size(), 2U);
  EXPECT_EQ((*after)[0][0].name, "loss");
  EXPECT_LT((*after)[0][0].value, 0.7 * (*before)[0][0].value);
  EXPECT_EQ((*after)[0][1].name, "accuracy");
  EXPECT_GT((*after)[0][1].value, 0.5);
}

TEST_F(TrainerTest, ResumesToTheSameBits) { ExpectSameAfterResume(kSgd, false); }

TEST_F(TrainerTest, ResumesToTheSameBitsWithSeveralBatchesAndTests) {
  nn::SolverDef solver = kSgd;
  solver.iter_size = 2;
  solver.clip_gradients = 1;
  solver.test_iter = {3};
  ExpectSameAfterResume(solver, true);
}

TEST_F(TrainerTest, ResumesToTheSameBitsWithAdamAndPlateau) {
  nn::SolverDef solver = kSgd;
  solver.kind = nn::SolverKind::kAdam;
  solver.base_lr = 0.002F;
  solver.lr_policy = nn::LrPolicy::kPlateau;
  solver.stepvalues = {};
  solver.plateau_winsize = {4, 4, 4};
  ExpectSameAfterResume(solver, false);
}

TEST_F(TrainerTest, ResumesFromCaffesFilesAlone) {
  const auto first = Make(kSgd);
  Steps(10, *first);
  const auto second = Resumed(kSgd, *first, false);
  EXPECT_EQ(second->iteration(), 10);
  EXPECT_EQ(second->MakeSidecar({}).schedule, first->MakeSidecar({}).schedule);
  Steps(1, *second);
  // 11 batches of 8 out of 90 images.
  EXPECT_EQ(second->MakeSidecar({}).train[0], (data::Cursor{0, 88}));
}

TEST_F(TrainerTest, RefusesTheStateOfAnotherSolver) {
  const auto first = Make(kSgd);
  nn::SolverDef adam = kSgd;
  adam.kind = nn::SolverKind::kAdam;
  const auto second = Make(adam);
  const auto state = caffe::ReadSolverState("x.solverstate", first->StateBytes(""));
  ASSERT_TRUE(state.ok());
  const Status status = second->Resume("x.solverstate", *state, {});
  EXPECT_EQ(status.message(),
            "x.solverstate: has 11 histories, the solver needs 22: it is the state of another "
            "network or type of solver");
}

TEST_F(TrainerTest, WeightsThatDoNotFitAreNamed) {
  const auto trainer = Make(kSgd);
  caffe::WeightsFile file{
      .net = "other",
      .layers = {{.layer = "elsewhere", .type = "Bias", .blobs = {}},
                 {.layer = "ip2",
                  .type = "InnerProduct",
                  .blobs = {{.shape = {1, 1, 10, 16}, .values = std::vector<float>(160, 2)},
                            {.shape = {1, 1, 1, 10}, .values = std::vector<float>(10, 3)}}}}};
  // Old files have four dimensions.
  EXPECT_TRUE(trainer->LoadWeights("old.caffemodel", caffe::WriteWeights(file)).ok());
  file.layers[1].blobs[1] = {.shape = {11}, .values = std::vector<float>(11)};
  EXPECT_EQ(trainer->LoadWeights("x.caffemodel", caffe::WriteWeights(file)).message(),
            "x.caffemodel: layer \"ip2\": blob 1: is 11 in the file and 10 in the network");
  file.layers[1].blobs.pop_back();
  EXPECT_EQ(trainer->LoadWeights("x.caffemodel", caffe::WriteWeights(file)).message(),
            "x.caffemodel: layer \"ip2\" has 1 blobs there and 2 in the network");
  file.layers[1].layer = "nobody";
  EXPECT_FALSE(trainer->LoadWeights("x.caffemodel", caffe::WriteWeights(file)).ok());
}

TEST_F(TrainerTest, WeightsThatAreMissingAreNamed) {
  const auto trainer = Make(kSgd);
  auto file = caffe::ReadWeights("x.caffemodel", trainer->WeightsBytes());
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(CheckComplete("x.caffemodel", *file, trainer->params()).ok());
  std::erase_if(file->layers, [](const caffe::NamedBlobs& layer) { return layer.layer == "ip2"; });
  EXPECT_EQ(CheckComplete("x.caffemodel", *file, trainer->params()).message(),
            "x.caffemodel: has no layer \"ip2\", which the network wants");
}

TEST_F(TrainerTest, LargestBatchFitsTheBudget) {
  const std::size_t budget = std::size_t{80} << 20U;
  const auto trainer = Make(kSgd, {.largest_batch = true, .bytes_max = budget});
  EXPECT_GT(trainer->batch(), 64);
  EXPECT_LT(trainer->train_model().net().arena_bytes(), budget);
  const auto more = Make(kSgd, {.largest_batch = true, .bytes_max = budget * 5 / 4});
  EXPECT_GT(more->batch(), trainer->batch());
  Steps(1, *trainer);
}

}  // namespace
}  // namespace shoal::train
