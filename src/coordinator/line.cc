#include "coordinator/line.h"

#include <algorithm>
#include <utility>

namespace shoal::coordinator {

Line::Line(std::size_t number, const LineWorld& world, LineEvents& events)
    : number_(number),
      positions_(world.model.positions),
      events_(events),
      clock_(world.seams.clock),
      replica_(world.seams, world.head, world.replica, *this),
      formation_(world.seams, world.roster, world.model, replica_, world.server, *this),
      ran_(world.seams.clock.Now()) {
  replica_.SetWatcher(world.flights);
}

Duration Line::StoppedFor(Instant now) {
  if (running()) ran_ = now;
  return now - ran_;
}

bool Line::HasRoom(std::size_t positions) const {
  return positions_used_ == 0 || positions_used_ + positions <= positions_;
}

void Line::Add(std::uint64_t sequence, std::size_t positions, std::vector<std::int32_t> history,
               std::shared_ptr<llm::Sampler> sampler) {
  reserved_[sequence] = positions;
  positions_used_ += positions;
  replica_.Add(sequence, std::move(history), std::move(sampler));
}

void Line::Remove(std::uint64_t sequence) {
  const auto found = reserved_.find(sequence);
  if (found == reserved_.end()) return;
  positions_used_ -= found->second;
  reserved_.erase(found);
  replica_.Remove(sequence);
}

std::vector<std::uint64_t> Line::RemoveAll() {
  std::vector<std::uint64_t> sequences;
  for (const auto& [sequence, positions] : reserved_) sequences.push_back(sequence);
  for (const std::uint64_t sequence : sequences) Remove(sequence);
  return sequences;
}

LineLoad Line::Load() const {
  LineLoad load;
  load.predicted = formation_.predicted().seconds_per_token;
  if (const auto usual = replica_.UsualLately()) load.measured = ToSeconds(*usual);
  load.stages = replica_.route().stages.size();
  load.answers = replica_.size();
  load.positions_free = positions_ - std::min(positions_, positions_used_);
  return load;
}

void Line::OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) {
  formation_.OnDrawn();
  tokens_.Add(1, clock_.Now());
  events_.OnDrawn(sequence, token);
}

void Line::OnDamaged(std::uint64_t sequence) { events_.OnDamaged(sequence); }

void Line::OnBroken(const Status& why) { formation_.OnBroken(why); }

Means Line::GetMeans() const { return events_.MeansOf(*this); }

std::uint64_t Line::NextEpoch() { return events_.NextEpoch(); }

void Line::OnFormationState(const std::string& /*why_waiting*/) { events_.OnLineState(); }

void Line::OnUnfit(NodeId node, const Status& why) { events_.OnUnfit(node, why); }

void Line::OnMoves(const std::vector<NodeId>& nodes) { events_.OnMoves(nodes); }

void Line::OnNews(const std::string& line) {
  events_.OnNews("replica " + std::to_string(number_) + ": " + line);
}

}  // namespace shoal::coordinator
