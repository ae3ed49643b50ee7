// SensorCheck: what of a node's sensors is believed. Vendors confuse signs and units, drivers hang,
// files come and go: what cannot be is left out and said, once, and what follows from it is
// decided without it.
//
// A sensor that was caught is believed again after a minute without a fault; each time that it is
// caught again within an hour, after twice as long.
//
// Belongs to one event loop.
#pragma once

#include <optional>
#include <string>

#include "agent/battery_evidence.h"
#include "base/latch.h"
#include "base/time.h"
#include "wire/control.h"

namespace shoal::agent {

class SensorCheck {
 public:
  // Takes out of a reading what is not believed, and names it in its doubts: "battery temperature:
  // 3276.7 °C cannot be; ignored", in the same words for as long as it is doubted. `working`:
  // whether the node computes, which warms and empties it.
  void Check(wire::pb::Telemetry& telemetry, Instant now, bool working);

 private:
  struct Sensor {
    const char* name;
    Latch doubted{std::chrono::minutes(1)};
    std::string doubt = {};
    bool seen = false;
    Duration missing{0};
  };
  // The moment of a reading.
  struct Moment {
    Instant now;
    Duration passed{0};  // Since the last one, as far as it counts.
    bool working = false;
  };

  // Of the reading of this moment: what is wrong with it; empty: nothing.
  std::string FaultOfLevel(const wire::pb::Telemetry& telemetry, const Moment& moment);
  std::string FaultOfCelsius(double celsius, const Moment& moment);
  std::string FaultOfAmperes(const wire::pb::Telemetry& telemetry, const Moment& moment);
  // Whether a sensor is believed at this moment. What was there and is no more is a fault, too.
  static bool Believe(Sensor& sensor, bool present, const std::string& fault, const Moment& moment);
  // The same for one that need not always be there.
  static bool BelieveIfThere(Sensor& sensor, bool present, const std::string& fault,
                             const Moment& moment);

  std::optional<Instant> last_;
  Sensor level_{"battery level"};
  Sensor celsius_{"battery temperature"};
  Sensor amperes_{"battery current"};
  Sensor charging_{"charger"};
  Sensor watts_{"power"};
  Sensor cpu_{"CPU load"};
  Sensor pressure_{"memory pressure"};

  // A gauge that falls by 12 % a minute is broken, and so is a battery that warms by 30 degrees.
  Leap level_leap_{0.05, 0.002};
  Leap celsius_leap_{8, 0.5};
  Stillness level_still_;
  Stillness celsius_still_;
  Stillness amperes_still_;
  bool celsius_has_tenths_ = false;
  double last_amperes_ = 0;
  ChargeBalance balance_;
  ChargerClaim claim_;
};

}  // namespace shoal::agent
