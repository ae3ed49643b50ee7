// Trees as some machines have them: the files that the readers look at, with values in
// the form (and the misunderstandings) of those vendors. For tests only.
#pragma once

#include "os/machine/fake_tree.h"

namespace shoal::os {

// A Pixel 3 from adb shell: 4 Kryo Gold at 2.8 GHz, 4 Silver at 1.77 GHz, everything
// readable, current as the kernel defines it, charging over USB.
void MakePixel(const FakeTree& tree);

// A Galaxy S10+ with Exynos: three kinds of cores, no capacities, current in mA with
// the opposite sign, zones named after clusters, discharging.
void MakeSamsung(const FakeTree& tree);

// A laptop: 2 physical cores with 2 hardware threads each, a battery named BAT0 without
// a thermometer, a mouse with a battery, mains connected.
void MakeLaptop(const FakeTree& tree);

}  // namespace shoal::os
