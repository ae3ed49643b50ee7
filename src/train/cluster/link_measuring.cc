#include "train/cluster/link_measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "train/cluster/link_of_echoes.h"
#include "train/cluster/reduce_plan.h"

namespace shoal::train {
namespace {

constexpr Duration kSurveyMax = std::chrono::milliseconds(800);
// An echo of one number and one of 64 KiB, which takes 50 ms each way at 10 Mb/s; thrice, for what
// disturbs one.
constexpr std::array<std::uint64_t, 6> kEchoElements = {1, 1, 1, 16 << 10U, 16 << 10U, 16 << 10U};

}  // namespace

LinkMeasuring::LinkMeasuring(Clock& clock, const Crew& crew, Hooks hooks)
    : clock_(clock), crew_(crew), hooks_(std::move(hooks)) {}

bool LinkMeasuring::Begin(std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  LinkSurvey survey(nodes, links_);
  if (survey.over()) return false;
  survey_ = std::move(survey);
  nodes_ = std::move(nodes);
  begin_ = clock_.Now();
  clock_.CallAfter(kSurveyMax, [this, alive = std::weak_ptr<int>(alive_), begin = begin_] {
    if (alive.expired() || !survey_ || begin_ != begin) return;
    End();
    hooks_.on_late();
  });
  TryFree();
  return true;
}

bool LinkMeasuring::Continue() {
  TryFree();
  if (!survey_->over()) return true;
  End();
  return false;
}

void LinkMeasuring::TryFree() {
  for (const LinkSurvey::Pair& pair : survey_->TakeFree()) Try(pair);
}

void LinkMeasuring::Try(const LinkSurvey::Pair& pair) {
  const std::uint64_t epoch = hooks_.new_epoch();
  trials_[epoch] = pair;
  wire::pb::TrainToNode message;
  wire::pb::TrainTrial& trial = *message.mutable_trial();
  trial.set_kind(wire::pb::TrainTrial::ECHO);
  trial.mutable_elements()->Add(kEchoElements.begin(), kEchoElements.end());
  wire::pb::TrainGroup& group = *trial.mutable_group();
  group.set_epoch(epoch);
  group.set_pieces_ahead(1);
  for (const NodeId node : {pair.first, pair.second}) {
    wire::pb::TrainMember& member = *group.add_members();
    member.set_node(ToNumber(node));
    member.set_address(crew_.Find(node)->address);
  }
  hooks_.send(pair.first, message);
  hooks_.send(pair.second, message);
}

bool LinkMeasuring::OnTried(NodeId from, const wire::pb::TrainTried& tried) {
  const auto trial = trials_.find(tried.epoch());
  if (!survey_ || trial == trials_.end()) return false;
  const LinkSurvey::Pair pair = trial->second;
  if (from != pair.first && from != pair.second) return false;
  if (tried.problem().empty() && from != pair.first) return false;  // Only it knows the time.
  const std::vector<double> seconds(tried.seconds().begin(), tried.seconds().end());
  const auto link = LinkOfEchoes(kEchoElements, seconds);
  links_.Set(pair.first, pair.second, link.ok() ? std::optional(*link) : std::nullopt);
  trials_.erase(trial);
  survey_->Done(pair);
  return true;
}

void LinkMeasuring::End() {
  for (const LinkSurvey::Pair& pair : survey_->Rest()) {
    links_.Set(pair.first, pair.second, std::nullopt);  // Once is enough.
  }
  survey_.reset();
  trials_.clear();
  hooks_.on_end(
      fmt::format("{}, measured in {:.2f} s",
                  DescribeLinks(links_, nodes_, [this](NodeId node) { return crew_.NameOf(node); }),
                  ToSeconds(clock_.Now() - begin_)));
}

}  // namespace shoal::train
