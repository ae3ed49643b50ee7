#include "agent/battery_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace shoal::agent {
namespace {

// Gauges show whole percents and waver by one.
constexpr double kTelling = 0.0299;
constexpr double kReassuring = 0.0199;
// From a watch to a large tablet, with room for what is imprecise: what is out by a thousand is
// outside for every phone.
constexpr double kAmpereHoursMin = 0.1;
constexpr double kAmpereHoursMax = 100;
// A tenth of the largest phone's battery, or 5 % of a laptop's: the level must move.
constexpr double kMustShow = 1;
// Above it a charger may leave a battery alone for a while, to spare it.
constexpr double kSparedAbove = 0.5;

template <class... Values>
std::string Text(const char* format, Values... values) {
  std::array<char, 160> text{};
  (void)std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

}  // namespace

std::string ChargeBalance::Update(double amperes, double level, Duration passed) {
  // A gauge that corrects itself moves no charge.
  if (begin_ && std::abs(level - last_) >= kReassuring) begin_.reset();
  last_ = level;
  if (!begin_) {
    begin_ = level;
    ampere_hours_ = 0;
    return wrong_;
  }
  ampere_hours_ += amperes * ToSeconds(passed) / 3600;
  const double moved = level - *begin_;
  const bool moved_enough = std::abs(moved) >= kTelling;
  const bool stuck = std::abs(ampere_hours_) >= kMustShow && std::abs(moved) < kReassuring;
  if (!moved_enough && !stuck) return wrong_;
  const std::string verdict = Weigh(moved);
  // The first that was found stays: it is one fault, to be named once.
  if (verdict.empty() || wrong_.empty()) wrong_ = verdict;
  begin_.reset();
  return wrong_;
}

std::string ChargeBalance::Weigh(double moved) const {
  if (std::abs(moved) < kTelling) {
    return Text("%+.1f Ah, and the level has not moved; ignored", ampere_hours_);
  }
  const double capacity = ampere_hours_ / moved;
  if (std::abs(capacity) < kAmpereHoursMin || std::abs(capacity) > kAmpereHoursMax) {
    return Text("%+.3g Ah for %+.0f %% of the battery cannot be; ignored", ampere_hours_,
                100 * moved);
  }
  if (capacity > 0) return "";
  return Text("says that the battery is being %s, and its level went from %.0f to %.0f %%; ignored",
              ampere_hours_ > 0 ? "charged" : "emptied", 100 * *begin_, 100 * (*begin_ + moved));
}

std::string ChargerClaim::Update(bool charging, double level) {
  const double height = charging ? level : -level;
  if (claim_ != charging) {
    claim_ = charging;
    highest_ = lowest_ = height;
    wrong_.clear();
  }
  highest_ = std::max(highest_, height);
  lowest_ = std::min(lowest_, height);
  const bool spared = charging && level > kSparedAbove;
  if (wrong_.empty() && !spared && highest_ - height >= kTelling) {
    wrong_ = Text("%s, and the level went from %.0f to %.0f %%; does not count",
                  charging ? "connected" : "not connected", 100 * std::abs(highest_), 100 * level);
    lowest_ = height;
  } else if (!wrong_.empty() && height - lowest_ >= kReassuring) {
    wrong_.clear();
    highest_ = height;
  }
  return wrong_;
}

Duration Stillness::Update(double value, bool counts, Duration passed) {
  if (value_ != value) same_for_ = Duration(0);
  if (value_ == value && counts) same_for_ += passed;
  value_ = value;
  return same_for_;
}

bool Leap::Update(double value, Instant now) {
  const bool leapt =
      value_ && std::abs(value - *value_) > slack_ + per_second_ * ToSeconds(now - at_);
  value_ = value;
  at_ = now;
  return leapt;
}

}  // namespace shoal::agent
