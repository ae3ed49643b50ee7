#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "collective/collective_frame.h"
#include "collective/link_model.h"

namespace shoal::collective {
namespace {

// The schedules of all ranks on modelled links, event by event.
class Race {
 public:
  Race(std::span<const Schedule> schedules, std::size_t bytes_per_element, const LinkFn& link)
      : schedules_(schedules),
        bytes_per_element_(static_cast<double>(bytes_per_element)),
        link_(link),
        ranks_(schedules.size()) {}

  double Run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) Advance(rank);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      Handle(event);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].at < schedules_[rank].size()) return std::numeric_limits<double>::infinity();
    }
    return now_;
  }

 private:
  enum class Kind : std::uint8_t { kSent, kComing, kArrived };
  struct Message {
    std::size_t from;
    std::size_t to;
    double alpha;
    double busy;  // Seconds of both ends.
  };
  struct Event {
    double at;
    std::uint64_t order;
    Kind kind;
    Message message;
    bool operator>(const Event& other) const {
      return std::pair(at, order) > std::pair(other.at, other.order);
    }
  };
  struct Rank {
    std::size_t at = 0;  // Of its schedule.
    std::deque<Message> queue;
    bool sending = false;
    double receives_until = 0;
    std::map<std::size_t, std::size_t> arrived;  // By sender.
  };

  void Push(double at, Kind kind, const Message& message) {
    events_.push({at, order_++, kind, message});
  }

  void Handle(const Event& event) {
    const Message& message = event.message;
    Rank& to = ranks_[message.to];
    switch (event.kind) {
      case Kind::kSent:
        ranks_[message.from].sending = false;
        return SendNext(message.from);
      case Kind::kComing:
        to.receives_until = std::max(now_, to.receives_until) + message.busy;
        return Push(to.receives_until, Kind::kArrived, message);
      case Kind::kArrived:
        ++to.arrived[message.from];
        return Advance(message.to);
    }
  }

  void SendNext(std::size_t from) {
    Rank& rank = ranks_[from];
    if (rank.sending || rank.queue.empty()) return;
    const Message message = rank.queue.front();
    rank.queue.pop_front();
    rank.sending = true;
    Push(now_ + message.alpha, Kind::kComing, message);
    Push(now_ + message.busy, Kind::kSent, message);
  }

  void Advance(std::size_t index) {
    Rank& rank = ranks_[index];
    for (; rank.at < schedules_[index].size(); ++rank.at) {
      const Action& action = schedules_[index][rank.at];
      if (action.kind == ActionKind::kSend) {
        const LinkModel link = link_(index, action.peer);
        const double bytes = static_cast<double>(kFrameHeaderBytes) +
                             bytes_per_element_ * static_cast<double>(action.end - action.begin);
        rank.queue.push_back(
            {index, action.peer, link.alpha_seconds, bytes / link.bytes_per_second});
        SendNext(index);
      } else if (rank.arrived[action.peer] > 0) {
        --rank.arrived[action.peer];
      } else {
        return;
      }
    }
  }

  const std::span<const Schedule> schedules_;
  const double bytes_per_element_;
  const LinkFn& link_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  double now_ = 0;
};

}  // namespace

double PredictSeconds(std::span<const Schedule> schedules, std::size_t bytes_per_element,
                      const LinkFn& link) {
  return Race(schedules, bytes_per_element, link).Run();
}

}  // namespace shoal::collective
