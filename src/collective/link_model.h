// What collectives cost on given links, and what follows from it: which algorithm, in which pieces,
// in which order of ranks. Times are for whole collectives on idle links; computing is free.
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "collective/communicator.h"
#include "collective/schedule.h"

namespace shoal::collective {

// A message of n bytes keeps both ends busy for n / bytes_per_second and is there `alpha_seconds`
// after that. The default is a phone on a USB-Ethernet hub.
struct LinkModel {
  double alpha_seconds = 300e-6;
  double bytes_per_second = 110e6;

  double Seconds(double bytes) const { return alpha_seconds + bytes / bytes_per_second; }
};

using LinkFn = std::function<LinkModel(std::size_t from, std::size_t to)>;

// Runs the schedules of all ranks, begun at the same time. A rank sends one message at a time and
// receives one at a time, at once. Infinity: they wait for each other for ever.
double PredictSeconds(std::span<const Schedule> schedules, std::size_t bytes_per_element,
                      const LinkFn& link);

struct LinkSample {
  double bytes = 0;
  double seconds = 0;  // One way.
};
// The line through the samples with the least squares. kInvalidArgument: fewer than two sizes, or
// larger messages took no longer.
Result<LinkModel> FitLink(std::span<const LinkSample> samples);

// The links of a cluster: those within a switch, and those between ranks of two. 0 per switch: all
// are behind one.
struct Links {
  LinkModel within;
  LinkModel across;  // For one pair, while all ranks of a switch use theirs.
  std::size_t per_switch = 0;
};

struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  Pieces pieces;
  std::size_t per_group = 0;  // kHierarchical: ranks that follow each other, so many in a group.
  double seconds = 0;         // What it should take.
};
// The fastest way to all-reduce so many floats.
Choice Choose(const Links& links, std::size_t members, std::size_t elements);

// Closed forms of the same, for members thousands strong.
double RingSeconds(const LinkModel& link, std::size_t members, double bytes, const Pieces& pieces);
double HalvingDoublingSeconds(const LinkModel& link, std::size_t members, double bytes);
double HierarchicalSeconds(const Links& links, std::size_t members, std::size_t per_group,
                           double bytes, const Pieces& pieces);

// How many bytes of gradients to collect before they are reduced: so many that steps cost little
// beside bytes, and no more, for the first of them can travel while the others are computed.
std::size_t BucketBytes(const LinkModel& link, std::size_t members);

// Groups of 0 … count - 1 for Group::switches.
std::vector<std::vector<std::uint32_t>> ConsecutiveGroups(std::size_t count, std::size_t per_group);

// Measured seconds of one message from each rank to each, all of one size.
struct PairTimes {
  std::size_t size = 0;
  std::vector<double> seconds;  // size × size, by sender; the diagonal means nothing.

  // The slower way: a ring uses one, and nobody knows which.
  double Between(std::size_t a, std::size_t b) const;
};

// An order of ranks in a ring that keeps slow pairs apart: begins at 0.
std::vector<std::uint32_t> RingOrder(const PairTimes& times);
// Ranks that are near each other: separated where times between pairs have a gap of a factor of
// two or more. One group if they have none.
std::vector<std::vector<std::uint32_t>> FindSwitches(const PairTimes& times);

}  // namespace shoal::collective
