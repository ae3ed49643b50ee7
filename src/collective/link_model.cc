#include "collective/link_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collective/pieces_internal.h"

namespace shoal::collective {
namespace {

constexpr double kBytesPerElement = 4;
// Messages of these sizes are cheap for processors; several of a slot under way hide how long one
// takes.
constexpr std::size_t kPieceElementsMin = std::size_t{4} << 10U;
constexpr std::size_t kPieceElementsMax = std::size_t{64} << 10U;
constexpr std::size_t kPiecesPerSlot = 8;
// Groups wait for each other between their three parts, which the closed form leaves out.
constexpr double kWorthGroups = 0.95;
constexpr std::size_t kAheadMin = 4;
constexpr std::size_t kAheadMax = 64;

// Seconds that a ring walk of `steps` steps takes for slots of `bytes`. A window of pieces passes
// in each step; the next begins when the window has been sent and its first piece has come.
double WalkSeconds(const LinkModel& link, double steps, double bytes, const Pieces& pieces) {
  if (steps <= 0) return 0;
  const std::size_t count =
      PieceCount(static_cast<std::uint64_t>(std::ceil(bytes / kBytesPerElement)), pieces);
  const double piece = bytes / static_cast<double>(count);
  const auto step = [&](std::size_t window) {
    return std::max(static_cast<double>(window) * piece / link.bytes_per_second,
                    link.Seconds(piece));
  };
  const std::size_t last = (count - 1) % Window(pieces) + 1;
  const auto whole = static_cast<double>((count - last) / Window(pieces));
  return whole * steps * step(Window(pieces)) + (steps - 1) * step(last) +
         link.Seconds(static_cast<double>(last) * piece);
}

// Pieces that fill the link twice over.
Pieces FillingPieces(const LinkModel& link, std::size_t slot_elements) {
  const std::size_t elements =
      std::clamp(slot_elements / kPiecesPerSlot, kPieceElementsMin, kPieceElementsMax);
  const double seconds = kBytesPerElement * static_cast<double>(elements) / link.bytes_per_second;
  const double ahead = std::ceil(2 * (1 + link.alpha_seconds / seconds));
  return {
      .elements = elements,
      .ahead = std::clamp(static_cast<std::size_t>(std::min(ahead, 1e6)), kAheadMin, kAheadMax)};
}

LinkModel Slower(const LinkModel& a, const LinkModel& b) {
  return {.alpha_seconds = std::max(a.alpha_seconds, b.alpha_seconds),
          .bytes_per_second = std::min(a.bytes_per_second, b.bytes_per_second)};
}

// Sizes of groups worth a look: that of a switch, and those around the square root of all, which
// have the fewest steps.
std::vector<std::size_t> GroupSizes(const Links& links, std::size_t members) {
  if (links.per_switch > 0) return {links.per_switch};
  std::vector<std::size_t> sizes;
  for (std::size_t size = 2; size <= members / 2; size *= 2) sizes.push_back(size);
  return sizes;
}

}  // namespace

double RingSeconds(const LinkModel& link, std::size_t members, double bytes, const Pieces& pieces) {
  const auto size = static_cast<double>(members);
  return members < 2 ? 0 : WalkSeconds(link, 2 * (size - 1), bytes / size, pieces);
}

double HalvingDoublingSeconds(const LinkModel& link, std::size_t members, double bytes) {
  if (members < 2) return 0;
  const std::size_t core = std::bit_floor(members);
  const double steps = 2 * std::countr_zero(core);
  const double share = 2 * (1 - 1 / static_cast<double>(core));
  // A host gets half of its partner's numbers while it gets those of its guest.
  const double guests =
      core == members ? 0 : 2 * link.Seconds(bytes) + bytes / 2 / link.bytes_per_second;
  return guests + steps * link.alpha_seconds + share * bytes / link.bytes_per_second;
}

double HierarchicalSeconds(const Links& links, std::size_t members, std::size_t per_group,
                           double bytes, const Pieces& pieces) {
  const std::size_t within = std::min(per_group, members);
  const std::size_t groups = (members + per_group - 1) / per_group;
  // The last group may be smaller, and decides how many parts there are.
  const std::size_t parts = std::min(within, members - (groups - 1) * per_group);
  const LinkModel& across = links.per_switch == 0 ? links.within : links.across;
  const double slot = bytes / static_cast<double>(parts);
  return WalkSeconds(links.within, 2 * static_cast<double>(within - 1), slot, pieces) +
         RingSeconds(across, groups, slot, pieces);
}

Choice Choose(const Links& links, std::size_t members, std::size_t elements) {
  const double bytes = kBytesPerElement * static_cast<double>(elements);
  const bool one_switch = links.per_switch == 0 || links.per_switch >= members;
  const LinkModel flat = one_switch ? links.within : Slower(links.within, links.across);
  Choice best = {.algorithm = Algorithm::kRing,
                 .pieces = FillingPieces(flat, elements / std::max<std::size_t>(1, members)),
                 .per_group = 0,
                 .seconds = 0};
  best.seconds = RingSeconds(flat, members, bytes, best.pieces);
  const double halving = HalvingDoublingSeconds(flat, members, bytes);
  if (halving < best.seconds) {
    best.algorithm = Algorithm::kHalvingDoubling;
    best.seconds = halving;
  }
  for (const std::size_t size : GroupSizes(links, members)) {
    if (size < 2 || size >= members) continue;
    const Pieces pieces = FillingPieces(flat, elements / size);
    const double seconds = HierarchicalSeconds(links, members, size, bytes, pieces);
    if (seconds < kWorthGroups * best.seconds) {
      best = {Algorithm::kHierarchical, pieces, size, seconds};
    }
  }
  return best;
}

std::size_t BucketBytes(const LinkModel& link, std::size_t members) {
  constexpr std::size_t kMin = std::size_t{1} << 20U;
  constexpr std::size_t kMax = std::size_t{32} << 20U;
  for (std::size_t bytes = kMin; bytes < kMax; bytes *= 2) {
    const Links links = {.within = link, .across = link, .per_switch = 0};
    const double bound = 2 * static_cast<double>(bytes) / link.bytes_per_second;
    if (Choose(links, members, bytes / 4).seconds <= 1.25 * bound) return bytes;
  }
  return kMax;
}

Result<LinkModel> FitLink(std::span<const LinkSample> samples) {
  double bytes = 0;
  double seconds = 0;
  for (const LinkSample& sample : samples) {
    bytes += sample.bytes / static_cast<double>(samples.size());
    seconds += sample.seconds / static_cast<double>(samples.size());
  }
  double spread = 0;
  double together = 0;
  for (const LinkSample& sample : samples) {
    spread += (sample.bytes - bytes) * (sample.bytes - bytes);
    together += (sample.bytes - bytes) * (sample.seconds - seconds);
  }
  if (!(spread > 0) || !(together > 0)) {
    return Status(Code::kInvalidArgument, "these times do not grow with the size of messages");
  }
  const double slope = together / spread;
  return LinkModel{.alpha_seconds = std::max(0.0, seconds - slope * bytes),
                   .bytes_per_second = 1 / slope};
}

std::vector<std::vector<std::uint32_t>> ConsecutiveGroups(std::size_t count,
                                                          std::size_t per_group) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % std::max<std::size_t>(1, per_group) == 0) groups.emplace_back();
    groups.back().push_back(static_cast<std::uint32_t>(i));
  }
  return groups;
}

}  // namespace shoal::collective
