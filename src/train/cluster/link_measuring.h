// LinkMeasuring: what is known of the links between the nodes of a training, and the measuring of
// those that are not, by echoes between pairs (trial.h). Takes less than a second: a training must
// not begin noticeably later for what it gains from it. What was not done by then counts as tried.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/node_id.h"
#include "train/cluster/crew.h"
#include "train/cluster/link_survey.h"
#include "train/cluster/link_table.h"
#include "wire/control.h"

namespace shoal::train {

class LinkMeasuring {
 public:
  struct Hooks {
    std::function<std::uint64_t()> new_epoch;  // For a trial: nobody else has it.
    std::function<void(NodeId, const wire::pb::TrainToNode&)> send;
    std::function<void(const std::string&)> on_end;  // What is known now, in a line.
    std::function<void()> on_late;                   // After on_end: it has taken too long.
  };

  // `clock` and `crew` outlive it.
  LinkMeasuring(Clock& clock, const Crew& crew, Hooks hooks);

  // Measures links of these nodes, which are of the crew, that were not tried before. False: there
  // are none.
  bool Begin(std::vector<NodeId> nodes);
  bool under_way() const { return survey_.has_value(); }
  // Goes on with pairs that are free. False: there are none left, and it has ended. REQUIRES:
  // under_way().
  bool Continue();
  // Whether it tells about a trial that is under way, which has then ended.
  bool OnTried(NodeId from, const wire::pb::TrainTried& tried);
  // The node has come, or come back.
  void Arrive(NodeId node, const std::string& address) { links_.Arrive(node, address); }
  void Leave(NodeId node) {
    if (survey_) survey_->Leave(node);
  }

  const LinkTable& links() const { return links_; }

 private:
  void TryFree();
  void Try(const LinkSurvey::Pair& pair);
  void End();

  Clock& clock_;
  const Crew& crew_;
  const Hooks hooks_;
  LinkTable links_;
  std::optional<LinkSurvey> survey_;  // Under way.
  Instant begin_;
  std::vector<NodeId> nodes_;
  std::map<std::uint64_t, LinkSurvey::Pair> trials_;  // Its pairs, by epoch.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
