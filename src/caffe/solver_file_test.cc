#include "caffe/solver_file.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::caffe {
namespace {

constexpr char kRate[] = "base_lr: 0.1 lr_policy: 'fixed' ";
constexpr char kBase[] = "net: 'n' base_lr: 0.1 lr_policy: 'fixed' ";

SolverFile MustParse(const std::string& text, std::string_view file = "a/solver.prototxt") {
  auto solver = ParseSolver(file, text);
  EXPECT_TRUE(solver.ok()) << solver.status().ToString();
  return solver.ok() ? *std::move(solver) : SolverFile();
}

std::string Message(const std::string& text) {
  const auto solver = ParseSolver("s.prototxt", text);
  return solver.ok() ? "ok" : std::string(solver.status().message());
}

TEST(SolverFile, GoogLeNetsSolver) {
  const SolverFile file = MustParse(R"(
    net: "models/bvlc_googlenet/train_val.prototxt"
    test_iter: 1000
    test_interval: 4000
    test_initialization: false
    display: 40
    average_loss: 40
    base_lr: 0.01
    lr_policy: "step"
    stepsize: 320000
    gamma: 0.96
    max_iter: 10000000
    momentum: 0.9
    weight_decay: 0.0002
    snapshot: 40000
    snapshot_prefix: "models/bvlc_googlenet/bvlc_googlenet"
    solver_mode: GPU
  )");
  EXPECT_EQ(file.solver.lr_policy, nn::LrPolicy::kStep);
  EXPECT_EQ(file.solver.base_lr, 0.01F);
  EXPECT_EQ(file.solver.gamma, 0.96F);
  EXPECT_EQ(file.solver.stepsize, 320000);
  EXPECT_EQ(file.solver.average_loss, 40);
  EXPECT_FALSE(file.solver.test_initialization);
  EXPECT_EQ(file.solver.snapshot_prefix, "models/bvlc_googlenet/bvlc_googlenet");
  EXPECT_EQ(file.train.path, "models/bvlc_googlenet/train_val.prototxt");
  EXPECT_EQ(file.train.phase, nn::Phase::kTrain);
  ASSERT_EQ(file.tests.size(), 1U);
  EXPECT_EQ(file.tests[0].path, file.train.path);
  EXPECT_EQ(file.tests[0].phase, nn::Phase::kTest);
  EXPECT_TRUE(file.warnings.empty());
}

TEST(SolverFile, WarmupAndAdaptiveRatesOfTheForks) {
  const SolverFile intel = MustParse(std::string(kBase) +
                                     "warmup_iter: 780 warmup_start_lr: 0.1 local_lr_auto: true "
                                     "local_gw_ratio: 0.002 eval_type: 'x'");
  EXPECT_EQ(intel.solver.warmup_iter, 780);
  EXPECT_EQ(intel.solver.warmup_start_lr, 0.1F);
  ASSERT_TRUE(intel.solver.lars.has_value());
  EXPECT_EQ(intel.solver.lars->eta, 0.002F);
  EXPECT_EQ(intel.warnings.size(), 1U);
  const SolverFile nvidia = MustParse(std::string(kBase) +
                                      "rampup_interval: 5 rampup_lr: 0.01 min_lr: 1e-5 larc: true "
                                      "larc_policy: 'clip' larc_eta: 0.003 reduce_buckets: 6");
  EXPECT_EQ(nvidia.solver.warmup_iter, 5);
  EXPECT_EQ(nvidia.solver.min_lr, 1e-5F);
  ASSERT_TRUE(nvidia.solver.lars.has_value());
  EXPECT_TRUE(nvidia.solver.lars->clip);
  const SolverFile plateau = MustParse(
      "net: 'n' base_lr: 1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 10 "
      "plateau_winsize: 20");
  EXPECT_EQ(plateau.solver.plateau_winsize, (std::vector<std::int64_t>{10, 20}));
}

TEST(SolverFile, KindsOldAndNew) {
  EXPECT_EQ(MustParse(std::string(kBase) + "solver_type: ADAM").solver.kind, nn::SolverKind::kAdam);
  EXPECT_EQ(MustParse(std::string(kBase) + "type: 'RMSProp' rms_decay: 0.9").solver.kind,
            nn::SolverKind::kRmsProp);
  EXPECT_EQ(MustParse(kBase).solver.kind, nn::SolverKind::kSgd);
}

TEST(SolverFile, SnapshotPrefixes) {
  EXPECT_EQ(MustParse(kBase).solver.snapshot_prefix, "a/solver");
  EXPECT_EQ(MustParse(kBase, "a.b/solver").solver.snapshot_prefix, "a.b/solver");
  EXPECT_EQ(MustParse(std::string(kBase) + "snapshot_prefix: 'out/'").solver.snapshot_prefix,
            "out/solver");
}

TEST(SolverFile, SeveralTestNets) {
  const SolverFile file = MustParse(std::string(kRate) + R"(
    net: "n" test_net: "t1" test_iter: 10 test_iter: 20 test_iter: 30 test_interval: 5
    test_net_param { layer { name: "i" type: "Input" top: "d" input_param { shape { dim: 1 } } } }
    test_state { stage: "a" } test_state { level: 2 } test_state { phase: TRAIN }
    train_state { stage: "s" } weights: "a,b" weights: "c"
  )");
  EXPECT_EQ(file.solver.test_iter, (std::vector<std::int64_t>{10, 20, 30}));
  ASSERT_EQ(file.tests.size(), 3U);
  ASSERT_TRUE(file.tests[0].written.has_value());
  EXPECT_EQ(file.tests[0].state.stages, std::vector<std::string>{"a"});
  EXPECT_EQ(file.tests[1].path, "t1");
  EXPECT_EQ(file.tests[1].state.level, 2);
  EXPECT_EQ(file.tests[2].path, "n");
  EXPECT_EQ(file.tests[2].state.phase, nn::Phase::kTrain);
  EXPECT_EQ(file.train.state.stages, std::vector<std::string>{"s"});
  EXPECT_EQ(file.weights, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(SolverFile, NetsWrittenInside) {
  const SolverFile file = MustParse(std::string(kRate) + R"(
    test_iter: 1 test_interval: 1
    net_param {
      layer { name: "i" type: "Input" top: "d" input_param { shape { dim: 1 } } }
      layer { name: "x" type: "Wrong" }
    })");
  ASSERT_TRUE(file.train.written.has_value());
  ASSERT_EQ(file.tests.size(), 1U);
  const auto network = file.tests[0].written->Build({});
  ASSERT_FALSE(network.ok());
  EXPECT_TRUE(network.status().message().starts_with("a/solver.prototxt:5: layer \"x\": type"))
      << network.status().message();
}

TEST(SolverFile, BrokenSolversSayWhatToDo) {
  const std::string base = kBase;
  EXPECT_EQ(Message(kRate),
            "s.prototxt: name exactly one network to train: net, train_net, net_param or "
            "train_net_param; there are 0");
  EXPECT_EQ(Message(base + "\ntrain_net: 'm'"),
            "s.prototxt:1: name exactly one network to train: net, train_net, net_param or "
            "train_net_param; there are 2");
  EXPECT_EQ(Message("net: 'n' base_lr: 1"),
            "s.prototxt: lr_policy is missing (\"fixed\" keeps base_lr)");
  EXPECT_EQ(Message("net: 'n'\nbase_lr: 1\nlr_policy: 'cosine'"),
            "s.prototxt:3: lr_policy is \"cosine\"; use one of fixed, step, exp, inv, multistep, "
            "poly, sigmoid, plateau");
  EXPECT_EQ(Message("net: 'n' base_lr: 1 lr_policy: 'step' gamma: 0.1"),
            "s.prototxt:1: lr_policy \"step\" needs stepsize");
  EXPECT_EQ(Message("net: 'n' base_lr: -1 lr_policy: 'fixed'"),
            "s.prototxt:1: base_lr is negative");
  EXPECT_EQ(Message("net: 'n' base_lr: nan lr_policy: 'fixed'"),
            "s.prototxt:1: base_lr is not a finite number");
  EXPECT_EQ(Message(base + "type: 'Adamax'"),
            "s.prototxt:1: type is \"Adamax\"; use one of SGD, Nesterov, AdaGrad, RMSProp, "
            "AdaDelta, Adam");
  EXPECT_EQ(Message(base + "type: 'AdaGrad' momentum: 0.9"),
            "s.prototxt:1: momentum must be 0 (or not there) with AdaGrad and RMSProp");
  EXPECT_EQ(Message(base + "test_iter: 5"),
            "s.prototxt: test_interval is missing (iterations between two tests)");
  EXPECT_EQ(Message(base + "test_net: 'a' test_net: 'b' test_iter: 5"),
            "s.prototxt:1: test_iter is given 1 times for 2 test nets; give it once for each");
  EXPECT_EQ(Message(base + "max_itr: 5"),
            "s.prototxt:1:42: unknown field \"max_itr\" in SolverParameter; did you mean "
            "\"max_iter\"?");
  EXPECT_EQ(Message(base + "iter_size: 0"), "s.prototxt:1: iter_size must be at least 1");
  EXPECT_EQ(Message("net: 'n' base_lr: 1 lr_policy: 'multistep' gamma: 1 stepvalue: 5 "
                    "stepvalue: 5"),
            "s.prototxt:1: stepvalue entries must grow, from 1");
}

}  // namespace
}  // namespace shoal::caffe
