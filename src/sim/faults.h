// Faults: everything that can go wrong in a World, each as a named number. With its
// default value a fault does not happen. Faults strike from the first moment until
// World::Heal.
//
// Rates are per hour of virtual time, times at random with that mean; durations are
// means of exponential distributions, so that very short and very long ones occur too.
// One kind of fault strikes at most a thousand times a second, whatever its rate.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/time.h"

namespace shoal::sim {

struct Faults {
  // Share of frames of which a packet is lost. As on TCP nothing is missing in the end:
  // the packet is sent again after 200 ms, and after twice as long each further time,
  // and what is behind it in its class waits. When that takes longer than the silence
  // limit, the link is down.
  double frame_loss = 0;
  // What a frame takes longer than LinkModel::delay.
  Duration delay_jitter_mean{0};
  // Share of frames that arrive with one flipped bit: a phone with faulty memory.
  double bit_flip = 0;

  // Connections that are reset although both phones are well.
  double disconnects_per_node_hour = 0;

  // The nodes fall into two groups that cannot reach each other. One at a time.
  double partitions_per_hour = 0;
  Duration partition_mean = std::chrono::seconds(10);

  // Processes that die, and how long until they are started again.
  double crashes_per_node_hour = 0;
  Duration restart_mean = std::chrono::seconds(5);
  // Share of crashes in which the whole phone goes dark: nobody is told.
  double power_loss = 0;

  // Phones that stand still, as Android lets them, and continue as if nothing had been.
  double hangs_per_node_hour = 0;
  Duration hang_mean = std::chrono::seconds(5);

  // Phones that compute slower: heat, or a background cpuset.
  double slowdowns_per_node_hour = 0;
  Duration slowdown_mean = std::chrono::seconds(30);
  double slowdown_factor = 4;

  // Every clock is fast or slow by up to this much (100,000 at most), and starts
  // anywhere. Stays after Heal: nobody repairs a phone's crystal.
  double clock_drift_ppm_max = 0;
};

// One fault as the command line names it: how a replay line and the options of
// `shoal sim` stay one list.
struct FaultField {
  std::string_view name;  // "frame-loss"; a Duration's name ends in "-ms".
  std::string_view help;
  std::variant<double Faults::*, Duration Faults::*> member;

  double Get(const Faults& faults) const;  // A Duration in milliseconds.
  // Values a World cannot mean are moved to the nearest it can: shares to [0, 1], and
  // everything to [0, 10^9].
  void Set(Faults& faults, double value) const;
};

std::span<const FaultField> FaultFields();

// Some of every fault, drawn from the seed, mild enough that a cluster gets work done.
// Values have few digits, so that replay lines stay short.
Faults RandomFaults(std::uint64_t seed);

// Digits that read back as the same number: 15 as a rule, which print 0.01 as 0.01.
std::string ShortestNumber(double value);

// " --frame-loss 0.01 --partition-ms 2000": what differs from Faults{}, exactly.
std::string FaultFlags(const Faults& faults);

}  // namespace shoal::sim
