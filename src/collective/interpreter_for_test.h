// All ranks of a collective in one array each, and messages in queues: what schedules mean, with
// nothing else in the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "collective/schedule.h"

namespace shoal::collective {

struct Interpreted {
  bool finished = false;  // False: everybody waits for somebody.
  bool agreed = true;     // Whether every message had the range that its receiver expected.
  bool all_received = false;
  std::vector<std::vector<float>> data;      // By rank.
  std::vector<std::uint64_t> elements_sent;  // By rank.
  std::vector<std::uint64_t> messages_sent;
};

class Interpreter {
 public:
  Interpreter(std::vector<Schedule> schedules, std::vector<std::vector<float>> data)
      : schedules_(std::move(schedules)), at_(schedules_.size()) {
    result_.data = std::move(data);
    result_.elements_sent.resize(schedules_.size());
    result_.messages_sent.resize(schedules_.size());
  }

  // Each rank goes as far as it can in turn; `backwards`: in the other order of ranks.
  Interpreted Run(bool backwards = false) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < at_.size(); ++i) {
        const std::size_t rank = backwards ? at_.size() - 1 - i : i;
        while (at_[rank] < schedules_[rank].size() && Step(rank, schedules_[rank][at_[rank]])) {
          ++at_[rank];
          moved = true;
        }
      }
    }
    result_.finished = true;
    for (std::size_t rank = 0; rank < at_.size(); ++rank) {
      result_.finished = result_.finished && at_[rank] == schedules_[rank].size();
    }
    result_.all_received = true;
    for (const auto& [pair, queue] : under_way_) {
      result_.all_received = result_.all_received && queue.empty();
    }
    return std::move(result_);
  }

 private:
  struct Message {
    Action action;
    std::vector<float> numbers;
  };

  bool Step(std::size_t rank, const Action& action) {
    std::vector<float>& mine = result_.data[rank];
    if (action.kind == ActionKind::kSend) {
      const auto begin = mine.begin() + static_cast<std::ptrdiff_t>(action.begin);
      under_way_[{rank, action.peer}].push_back(
          {action, {begin, begin + static_cast<std::ptrdiff_t>(action.end - action.begin)}});
      result_.elements_sent[rank] += action.end - action.begin;
      ++result_.messages_sent[rank];
      return true;
    }
    std::deque<Message>& queue = under_way_[{action.peer, rank}];
    if (queue.empty()) return false;
    const Message message = std::move(queue.front());
    queue.pop_front();
    if (message.action.begin != action.begin || message.action.end != action.end) {
      result_.agreed = false;
      return true;
    }
    for (std::size_t i = 0; i < message.numbers.size(); ++i) {
      float& here = mine[action.begin + i];
      here =
          action.kind == ActionKind::kReceiveAdd ? message.numbers[i] + here : message.numbers[i];
    }
    return true;
  }

  std::vector<Schedule> schedules_;
  std::vector<std::size_t> at_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Message>> under_way_;
  Interpreted result_;
};

inline std::vector<Schedule> AllSchedules(std::size_t size,
                                          const std::function<Schedule(Place)>& make) {
  std::vector<Schedule> schedules;
  for (std::size_t rank = 0; rank < size; ++rank) schedules.push_back(make({rank, size}));
  return schedules;
}

}  // namespace shoal::collective
