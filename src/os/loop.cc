#include "os/loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "os/loop_internal.h"

namespace shoal::os {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

SteadyTime ToSteadyTime(Instant at) {
  // Instant::Never must survive clocks that count in another unit.
  if (at == Instant::Never()) return SteadyTime::max();
  return SteadyTime(std::chrono::duration_cast<SteadyTime::duration>(at.since_origin));
}

}  // namespace

struct Loop::Impl {
  Impl() : work(context.get_executor()), alarm(context) {}

  // Makes the alarm ring for the first timer, if it does not already.
  void SetAlarm() {
    if (timers.empty()) return;
    const Instant first = timers.begin()->first.first;
    if (alarm_at == first) return;
    alarm_at = first;
    alarm.expires_at(ToSteadyTime(first));  // Cancels the wait before it.
    alarm.async_wait([this](const boost::system::error_code& error) {
      if (!error) RunFirstTimer();
    });
  }

  // One timer is one event: a timer that is due with it has its own turn, and can
  // still be cancelled until then.
  void RunFirstTimer() {
    alarm_at = Instant::Never();
    const auto first = timers.begin();
    if (first != timers.end() && first->first.first <= NowOf()) {
      UniqueFunction<void()> task = std::move(first->second);
      due.erase(first->first.second);
      timers.erase(first);
      SetAlarm();
      task();
      return;
    }
    SetAlarm();
  }

  static Instant NowOf() {
    return {
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
  }

  boost::asio::io_context context{1};  // A hint: one thread runs it.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  boost::asio::steady_timer alarm;
  Instant alarm_at = Instant::Never();
  // Ordered by time, then by the order they were set.
  std::map<std::pair<Instant, std::uint64_t>, UniqueFunction<void()>> timers;
  std::unordered_map<std::uint64_t, Instant> due;  // When each timer is due.
  std::uint64_t next_id = 1;
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

Instant Loop::Now() const { return Impl::NowOf(); }

TimerId Loop::CallAt(Instant at, UniqueFunction<void()> task) {
  const std::uint64_t id = impl_->next_id++;
  impl_->timers.emplace(std::pair(at, id), std::move(task));
  impl_->due.emplace(id, at);
  impl_->SetAlarm();
  return TimerId{id};
}

void Loop::Cancel(TimerId id) {
  const auto number = static_cast<std::uint64_t>(id);
  const auto found = impl_->due.find(number);
  if (found == impl_->due.end()) return;
  impl_->timers.erase({found->second, number});
  impl_->due.erase(found);
}

void Loop::Post(UniqueFunction<void()> task) {
  boost::asio::post(impl_->context, [run = std::move(task)]() mutable { run(); });
}

void Loop::Run() {
  impl_->context.run();
  impl_->context.restart();
}

void Loop::Stop() { impl_->context.stop(); }

bool Loop::RunOne(Duration limit) {
  // run_one_for(0) would return without looking.
  if (limit <= Duration(0)) return impl_->context.poll_one() > 0;
  return impl_->context.run_one_for(limit) > 0;
}

bool Loop::RunUntil(const std::function<bool()>& done, Duration limit) {
  const Instant deadline = Now() + limit;
  while (!done()) {
    const Duration left = deadline - Now();
    if (left <= Duration(0)) return false;
    RunOne(left);
  }
  return true;
}

boost::asio::io_context& LoopInternals::Context(Loop& loop) { return loop.impl_->context; }

}  // namespace shoal::os
