#include "data/synth.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/check.h"
#include "base/random.h"

namespace shoal::data {
namespace {

using Color = std::array<std::int32_t, 3>;  // Blue first.

struct ClassStyle {
  const char* name;
  Color color;
};
constexpr std::array<ClassStyle, kSynthClasses> kStyles = {{
    {"disc", {60, 60, 220}},
    {"ring", {60, 200, 60}},
    {"square", {220, 80, 60}},
    {"frame", {60, 210, 210}},
    {"plus", {210, 60, 200}},
    {"cross", {210, 200, 60}},
    {"rows", {200, 200, 200}},
    {"columns", {60, 130, 230}},
    {"diagonals", {140, 60, 140}},
    {"checks", {130, 160, 100}},
}};
// How far an image's colour is from its class's: neighbouring classes overlap.
constexpr std::int32_t kColorJitter = 70;
constexpr std::int32_t kBackgroundMax = 110;

// Whether the pattern of class `label` covers the point (dx, dy) from its centre; r is half
// of its size.
bool Covers(std::int32_t label, std::int64_t dx, std::int64_t dy, std::int64_t r) {
  const std::int64_t distance2 = dx * dx + dy * dy;
  const std::int64_t ax = std::abs(dx);
  const std::int64_t ay = std::abs(dy);
  const std::int64_t farther = std::max(ax, ay);
  if (label == 0) return distance2 <= r * r;
  if (label == 1) return distance2 <= r * r && 25 * distance2 >= 9 * r * r;
  if (farther > r) return false;
  const std::int64_t period = std::max<std::int64_t>(2, r / 2);
  const std::int64_t row = (dy + r) / period;
  const std::int64_t column = (dx + r) / period;
  switch (label) {
    case 2:
      return true;
    case 3:
      return 5 * farther >= 3 * r;
    case 4:
      return 4 * std::min(ax, ay) <= r;
    case 5:
      return 3 * std::abs(ax - ay) <= r;
    case 6:
      return row % 2 == 0;
    case 7:
      return column % 2 == 0;
    case 8:
      return (dx + dy + 2 * r) / period % 2 == 0;
    default:
      return (row + column) % 2 == 0;
  }
}

struct Scene {
  std::int64_t center_x = 0;  // In half pixels.
  std::int64_t center_y = 0;
  std::int64_t r = 0;
  Color foreground{};
  Color background{};
};

Scene MakeScene(std::int64_t side, std::int32_t label, Random& random) {
  Scene scene;
  scene.r = random.Between(side / 2, 3 * side / 4);  // Of 2 · side half pixels.
  const std::int64_t jitter = side / 4;
  scene.center_x = side + random.Between(-jitter, jitter);
  scene.center_y = side + random.Between(-jitter, jitter);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::int32_t color = kStyles[static_cast<std::size_t>(label)].color[c];
    scene.foreground[c] =
        color + static_cast<std::int32_t>(random.Between(-kColorJitter, kColorJitter));
    scene.background[c] = static_cast<std::int32_t>(random.Between(0, kBackgroundMax));
  }
  return scene;
}

}  // namespace

Result<SynthSource> SynthSource::Create(const SynthOptions& options) {
  const bool valid = options.count >= 1 && options.count <= (std::int64_t{1} << 31U) &&
                     options.size >= 8 && options.size <= 1024 &&
                     (options.channels == 1 || options.channels == 3) && options.classes >= 2 &&
                     options.classes <= kSynthClasses && options.noise >= 0 && options.noise <= 255;
  if (valid) return SynthSource(options);
  return Status(Code::kInvalidArgument,
                "a synthetic set has at least 1 image of 8 to 1024 pixels a side, 1 or 3 "
                "channels, 2 to 10 classes and noise of 0 to 255");
}

Status SynthSource::Read(std::int64_t index, Record& out) const {
  SHOAL_CHECK(index >= 0 && index < options_.count);
  Random random(options_.seed, static_cast<std::uint64_t>(index));
  const std::int64_t side = options_.size;
  out.channels = options_.channels;
  out.height = side;
  out.width = side;
  out.label = static_cast<std::int32_t>(index % options_.classes);
  out.floats.clear();
  out.bytes.resize(static_cast<std::size_t>(out.elements()));
  const Scene scene = MakeScene(side, out.label, random);
  std::uint8_t* to = out.bytes.data();
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const bool covered =
          Covers(out.label, 2 * x + 1 - scene.center_x, 2 * y + 1 - scene.center_y, scene.r);
      const Color& color = covered ? scene.foreground : scene.background;
      for (std::int64_t c = 0; c < options_.channels; ++c) {
        // One channel: green, the middle one.
        const std::int32_t base = color[static_cast<std::size_t>(options_.channels == 1 ? 1 : c)];
        const std::int64_t value = base + random.Between(-options_.noise, options_.noise);
        *to++ = static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255));
      }
    }
  }
  return {};
}

std::vector<std::string> SynthClassNames() {
  std::vector<std::string> names;
  for (const ClassStyle& style : kStyles) names.emplace_back(style.name);
  return names;
}

}  // namespace shoal::data
