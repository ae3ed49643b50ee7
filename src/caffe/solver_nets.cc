// Which networks a solver file means: `net`, `train_net`, `test_net`, or written inside.
#include <memory>
#include <utility>

#include "caffe/net_text_internal.h"
#include "caffe/solver_internal.h"

namespace shoal::caffe::internal {
namespace {

using caffe_proto::NetParameter;

NetState ToState(const caffe_proto::NetState& proto) {
  NetState state;
  if (proto.has_phase()) {
    state.phase = proto.phase() == caffe_proto::TRAIN ? nn::Phase::kTrain : nn::Phase::kTest;
  }
  if (proto.has_level()) state.level = proto.level();
  state.stages.assign(proto.stage().begin(), proto.stage().end());
  return state;
}

// A network written in the `index`th `field` (-1: the only one).
Result<NetFile> Written(const SolverText& text, const char* field, int index,
                        const NetParameter& proto, std::vector<std::string>& warnings) {
  auto net = std::make_shared<NetText>();
  net->file = text.file;
  net->proto = proto;
  const auto* descriptor = text.proto.GetDescriptor()->FindFieldByName(field);
  SHOAL_RETURN_IF_ERROR(FinishNet(text.places.GetTreeForNested(descriptor, index), *net));
  warnings.insert(warnings.end(), net->warnings.begin(), net->warnings.end());
  return NetFile(std::move(net));
}

Status ReadTrainNet(const SolverText& text, SolverFile& out) {
  const auto& proto = text.proto;
  const int given = static_cast<int>(proto.has_net()) + static_cast<int>(proto.has_net_param()) +
                    static_cast<int>(proto.has_train_net()) +
                    static_cast<int>(proto.has_train_net_param());
  if (given != 1) {
    return text.Error("net", "name exactly one network to train: net, train_net, net_param or " +
                                 std::string("train_net_param; there are ") +
                                 std::to_string(given));
  }
  out.train.phase = nn::Phase::kTrain;
  out.train.state = ToState(proto.train_state());
  out.train.path = proto.has_net() ? proto.net() : proto.train_net();
  if (proto.has_net_param()) {
    SHOAL_ASSIGN_OR_RETURN(out.train.written,
                           Written(text, "net_param", -1, proto.net_param(), out.warnings));
  }
  if (proto.has_train_net_param()) {
    SHOAL_ASSIGN_OR_RETURN(out.train.written, Written(text, "train_net_param", -1,
                                                      proto.train_net_param(), out.warnings));
  }
  return Status();
}

// First those written down, then those named; `net` stands for as many as test_iter has more.
Status ReadTestNets(const SolverText& text, SolverFile& out) {
  const auto& proto = text.proto;
  for (int i = 0; i < proto.test_net_param_size(); ++i) {
    NetChoice choice;
    SHOAL_ASSIGN_OR_RETURN(
        choice.written, Written(text, "test_net_param", i, proto.test_net_param(i), out.warnings));
    out.tests.push_back(std::move(choice));
  }
  for (const std::string& path : proto.test_net()) {
    NetChoice choice;
    choice.path = path;
    out.tests.push_back(std::move(choice));
  }
  const std::size_t wanted = static_cast<std::size_t>(proto.test_iter_size());
  const bool has_generic = proto.has_net() || proto.has_net_param();
  if (wanted < out.tests.size() || (!has_generic && wanted != out.tests.size())) {
    return text.Error("test_iter", "test_iter is given " + std::to_string(wanted) + " times for " +
                                       std::to_string(out.tests.size()) +
                                       " test nets; give it once for each");
  }
  NetChoice generic = out.train;
  generic.state = NetState();
  out.tests.resize(wanted, generic);
  return Status();
}

Status ReadTestStates(const SolverText& text, SolverFile& out) {
  const auto& proto = text.proto;
  const auto states = static_cast<std::size_t>(proto.test_state_size());
  if (states != 0 && states != out.tests.size()) {
    return text.Error("test_state", "test_state is given " + std::to_string(states) +
                                        " times for " + std::to_string(out.tests.size()) +
                                        " test nets; give it once for each, or not at all");
  }
  for (std::size_t i = 0; i < out.tests.size(); ++i) {
    out.tests[i].phase = nn::Phase::kTest;
    if (states != 0) out.tests[i].state = ToState(proto.test_state(static_cast<int>(i)));
  }
  if (!out.tests.empty() && proto.test_interval() <= 0) {
    return text.Error("test_interval", "test_interval is missing (iterations between two tests)");
  }
  return Status();
}

}  // namespace

Status ReadNets(const SolverText& text, SolverFile& out) {
  SHOAL_RETURN_IF_ERROR(ReadTrainNet(text, out));
  SHOAL_RETURN_IF_ERROR(ReadTestNets(text, out));
  return ReadTestStates(text, out);
}

}  // namespace shoal::caffe::internal
