// The battery and the charger, as far as /sys/class/power_supply may be read: apps on
// Android 9 and later mostly may not, adb shell mostly may.
//
// The kernel defines units and signs, and vendors ignore them; the rules here:
//   capacity     percent, 0 to 100; anything else is absurd.
//   temp         tenths of a degree Celsius, -40 to 120 degrees.
//   voltage_now  microvolts; a number below 100,000 (0.1 V) is taken for millivolts.
//   current_now  microamperes; a magnitude below 10,000 is taken for milliamperes, since
//                a phone that computes draws more than 10 mA (one that idles on a full
//                battery may draw less, and is then misread).
//   its sign     positive is into the battery. If the status says charging or
//                discharging it decides, because vendors disagree about the sign in the
//                file; else the sign in the file is kept. Whether a battery loses charge
//                although it "charges" (a weak charger) shows in its level over time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "os/machine/sys_root.h"

namespace shoal::os {

enum class ChargeStatus : std::uint8_t { kUnknown, kCharging, kDischarging, kNotCharging, kFull };
std::string_view ChargeStatusName(ChargeStatus status);

struct Battery {
  std::string name;  // Its directory below /sys/class/power_supply.
  Result<double> percent;
  Result<ChargeStatus> status;
  Result<double> celsius;
  Result<double> volts;
  Result<double> amperes;  // Positive: into the battery.
};

// The machine's own battery, not that of a mouse. Its fields can all be failures (the
// directory is there, its files are forbidden). kNotFound: there is none.
Result<Battery> ReadBattery(const SysRoot& root);

// Whether some charger (mains, USB, wireless) delivers. kNotFound: there is none.
Result<bool> ReadExternalPower(const SysRoot& root);

}  // namespace shoal::os
