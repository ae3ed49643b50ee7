// The numbers of a solver file and what they must be.
#include <cmath>
#include <utility>

#include "caffe/solver_internal.h"

namespace shoal::caffe::internal {
namespace {

using caffe_proto::SolverParameter;
using nn::LrPolicy;
using nn::SolverDef;
using nn::SolverKind;

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr Named<SolverKind> kKinds[] = {
    {"SGD", SolverKind::kSgd},           {"Nesterov", SolverKind::kNesterov},
    {"AdaGrad", SolverKind::kAdaGrad},   {"RMSProp", SolverKind::kRmsProp},
    {"AdaDelta", SolverKind::kAdaDelta}, {"Adam", SolverKind::kAdam},
};
// In the order of the legacy enumeration SolverType.
static_assert(std::size(kKinds) == SolverParameter::SolverType_ARRAYSIZE);

constexpr Named<LrPolicy> kPolicies[] = {
    {"fixed", LrPolicy::kFixed},     {"step", LrPolicy::kStep},           {"exp", LrPolicy::kExp},
    {"inv", LrPolicy::kInv},         {"multistep", LrPolicy::kMultiStep}, {"poly", LrPolicy::kPoly},
    {"sigmoid", LrPolicy::kSigmoid}, {"plateau", LrPolicy::kPlateau},
};

template <class Value, std::size_t size>
Result<Value> Find(const SolverText& text, const char* field, const std::string& name,
                   const Named<Value> (&list)[size]) {
  std::string known;
  for (const Named<Value>& entry : list) {
    if (entry.name == name) return entry.value;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return text.Error(field, std::string(field) + " is \"" + name + "\"; use one of " + known);
}

Result<SolverKind> ReadKind(const SolverText& text) {
  const SolverParameter& proto = text.proto;
  if (!proto.has_solver_type()) return Find(text, "type", proto.type(), kKinds);
  if (proto.has_type()) {
    return text.Error("solver_type", "give type or (older) solver_type, not both");
  }
  return kKinds[proto.solver_type()].value;
}

// Every number of a solver is finite, and every whole number that counts something is not negative.
Status CheckNumbers(const SolverText& text) {
  const auto* reflection = text.proto.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(text.proto, &fields);
  for (const auto* field : fields) {
    if (field->is_repeated()) continue;
    const std::string& name = field->name();
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_FLOAT) {
      const float value = reflection->GetFloat(text.proto, field);
      if (!std::isfinite(value)) return text.Error(name, name + " is not a finite number");
      if (value < 0 && name != "clip_gradients" && name != "power") {
        return text.Error(name, name + " is negative");
      }
    }
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT32 &&
        reflection->GetInt32(text.proto, field) < 0 && name != "device_id") {
      return text.Error(name, name + " is negative");
    }
  }
  for (const int value : text.proto.test_iter()) {
    if (value < 1) return text.Error("test_iter", "test_iter must be at least 1");
  }
  return Status();
}

Status CheckSteps(const SolverText& text) {
  const SolverParameter& proto = text.proto;
  int previous = 0;
  for (const int step : proto.stepvalue()) {
    if (step <= previous) {
      return text.Error("stepvalue", "stepvalue entries must grow, from 1");
    }
    previous = step;
  }
  for (const int window : proto.plateau_winsize()) {
    if (window < 1) return text.Error("plateau_winsize", "plateau_winsize must be at least 1");
  }
  return Status();
}

// What each policy cannot do without.
Status CheckPolicy(const SolverText& text, LrPolicy policy) {
  const SolverParameter& proto = text.proto;
  const auto missing = [&](const char* field) {
    return text.Error("lr_policy", "lr_policy \"" + proto.lr_policy() + "\" needs " + field);
  };
  switch (policy) {
    case LrPolicy::kFixed:
      break;
    case LrPolicy::kStep:
      if (proto.stepsize() < 1) return missing("stepsize");
      [[fallthrough]];
    case LrPolicy::kExp:
      if (!proto.has_gamma()) return missing("gamma");
      break;
    case LrPolicy::kMultiStep:
      if (proto.stepvalue_size() == 0) return missing("stepvalue");
      if (!proto.has_gamma()) return missing("gamma");
      break;
    case LrPolicy::kPlateau:
      if (proto.plateau_winsize_size() == 0) return missing("plateau_winsize");
      if (!proto.has_gamma()) return missing("gamma");
      break;
    case LrPolicy::kInv:
      if (!proto.has_gamma()) return missing("gamma");
      if (!proto.has_power()) return missing("power");
      break;
    case LrPolicy::kPoly:
      if (!proto.has_power()) return missing("power");
      if (proto.max_iter() < 1) return missing("max_iter");
      break;
    case LrPolicy::kSigmoid:
      if (!proto.has_gamma()) return missing("gamma");
      if (!proto.has_stepsize()) return missing("stepsize");
      break;
  }
  return CheckSteps(text);
}

Status CheckKind(const SolverText& text, SolverKind kind) {
  const SolverParameter& proto = text.proto;
  const bool without_momentum = kind == SolverKind::kAdaGrad || kind == SolverKind::kRmsProp;
  if (without_momentum && proto.momentum() != 0) {
    return text.Error("momentum", "momentum must be 0 (or not there) with AdaGrad and RMSProp");
  }
  if (kind == SolverKind::kRmsProp && proto.rms_decay() >= 1) {
    return text.Error("rms_decay", "rms_decay must be less than 1");
  }
  return Status();
}

Result<std::optional<nn::LarsDef>> ReadLars(const SolverText& text) {
  const SolverParameter& proto = text.proto;
  std::optional<nn::LarsDef> lars;
  if (proto.local_lr_auto()) lars = nn::LarsDef{.clip = false, .eta = proto.local_gw_ratio()};
  if (!proto.larc()) return lars;
  if (proto.larc_policy() != "scale" && proto.larc_policy() != "clip") {
    return text.Error("larc_policy", "larc_policy must be \"scale\" or \"clip\"");
  }
  lars = nn::LarsDef{.clip = proto.larc_policy() == "clip", .eta = proto.larc_eta()};
  return lars;
}

// NVIDIA's names for a warm-up, or Intel's.
void ReadWarmup(const SolverParameter& proto, SolverDef& solver) {
  solver.warmup_iter = proto.has_warmup_iter() ? proto.warmup_iter() : proto.rampup_interval();
  solver.warmup_start_lr =
      proto.has_warmup_start_lr() ? proto.warmup_start_lr() : proto.rampup_lr();
}

Status ReadRate(const SolverText& text, SolverDef& solver) {
  const SolverParameter& proto = text.proto;
  if (!proto.has_base_lr()) return text.Error("base_lr", "base_lr is missing");
  if (!proto.has_lr_policy()) {
    return text.Error("lr_policy", "lr_policy is missing (\"fixed\" keeps base_lr)");
  }
  SHOAL_ASSIGN_OR_RETURN(solver.lr_policy, Find(text, "lr_policy", proto.lr_policy(), kPolicies));
  SHOAL_RETURN_IF_ERROR(CheckPolicy(text, solver.lr_policy));
  solver.base_lr = proto.base_lr();
  solver.gamma = proto.gamma();
  solver.power = proto.power();
  solver.stepsize = proto.stepsize();
  solver.stepvalues.assign(proto.stepvalue().begin(), proto.stepvalue().end());
  solver.plateau_winsize.assign(proto.plateau_winsize().begin(), proto.plateau_winsize().end());
  solver.min_lr = proto.min_lr();
  ReadWarmup(proto, solver);
  return Status();
}

Status ReadUpdate(const SolverText& text, SolverDef& solver) {
  const SolverParameter& proto = text.proto;
  SHOAL_ASSIGN_OR_RETURN(solver.kind, ReadKind(text));
  SHOAL_RETURN_IF_ERROR(CheckKind(text, solver.kind));
  solver.max_iter = proto.max_iter();
  solver.iter_size = proto.iter_size();
  if (solver.iter_size < 1) return text.Error("iter_size", "iter_size must be at least 1");
  solver.momentum = proto.momentum();
  solver.momentum2 = proto.momentum2();
  solver.rms_decay = proto.rms_decay();
  solver.delta = proto.delta();
  solver.weight_decay = proto.weight_decay();
  if (proto.regularization_type() != "L2" && proto.regularization_type() != "L1") {
    return text.Error("regularization_type", "regularization_type must be \"L1\" or \"L2\"");
  }
  solver.regularization =
      proto.regularization_type() == "L1" ? nn::Regularization::kL1 : nn::Regularization::kL2;
  solver.clip_gradients = proto.clip_gradients();
  SHOAL_ASSIGN_OR_RETURN(solver.lars, ReadLars(text));
  return Status();
}

// "a/solver.prototxt" gives "a/solver"; a prefix that is a directory gets the file's stem.
std::string SnapshotPrefix(const SolverText& text) {
  const std::string& file = text.file;
  const std::size_t slash = file.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = file.rfind('.');
  const bool has_extension = dot != std::string::npos && dot > name;
  const std::string path = has_extension ? file.substr(0, dot) : file;
  const std::string& given = text.proto.snapshot_prefix();
  if (given.empty()) return path;
  return given.back() == '/' ? given + path.substr(name) : given;
}

void ReadReports(const SolverText& text, SolverDef& solver) {
  const SolverParameter& proto = text.proto;
  solver.display = proto.display();
  solver.average_loss = proto.average_loss();
  solver.test_iter.assign(proto.test_iter().begin(), proto.test_iter().end());
  solver.test_interval = proto.test_interval();
  solver.test_initialization = proto.test_initialization();
  solver.test_compute_loss = proto.test_compute_loss();
  solver.snapshot = proto.snapshot();
  solver.snapshot_prefix = SnapshotPrefix(text);
  solver.snapshot_after_train = proto.snapshot_after_train();
  solver.debug_info = proto.debug_info();
  solver.random_seed = proto.random_seed();
}

}  // namespace

Result<SolverDef> ReadSolver(const SolverText& text, std::vector<std::string>& warnings) {
  SolverDef solver;
  SHOAL_RETURN_IF_ERROR(CheckNumbers(text));
  SHOAL_RETURN_IF_ERROR(ReadRate(text, solver));
  SHOAL_RETURN_IF_ERROR(ReadUpdate(text, solver));
  ReadReports(text, solver);
  if (solver.average_loss < 1) return text.Error("average_loss", "average_loss must be at least 1");
  if (text.proto.snapshot_format() == SolverParameter::HDF5 && text.proto.has_snapshot_format()) {
    text.Warn("snapshot_format", "snapshot_format: HDF5 is not supported; snapshots are binary",
              warnings);
  }
  return solver;
}

}  // namespace shoal::caffe::internal
