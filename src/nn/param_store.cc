#include "nn/param_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "nn/filler.h"

namespace shoal::nn {
namespace {

std::string KeyOf(const ParamSpec& spec) { return spec.layer + "/" + std::to_string(spec.index); }

Status Disagreement(const ParamSpec& spec, const Param& with) {
  return Status(Code::kInvalidArgument,
                "layer '" + spec.layer + "': parameter " + std::to_string(spec.index) + " is " +
                    ToString(spec.layout.shape()) + ", but shares with layer '" + with.spec.layer +
                    "', where it is " + ToString(with.spec.layout.shape()));
}

std::span<float> Floats(AlignedBuffer& buffer) {
  return {reinterpret_cast<float*>(buffer.data()), buffer.size() / sizeof(float)};
}

// `buffer` grown to `floats`, with zeros behind what was there.
Status Grow(std::size_t floats, AlignedBuffer& buffer) {
  SHOAL_ASSIGN_OR_RETURN(AlignedBuffer larger, AlignedBuffer::Make(floats * sizeof(float)));
  if (buffer.size() > 0) std::memcpy(larger.data(), buffer.data(), buffer.size());
  std::memset(larger.data() + buffer.size(), 0, larger.size() - buffer.size());
  buffer = std::move(larger);
  return {};
}

}  // namespace

Result<ParamId> ParamStore::Want(const ParamSpec& spec) {
  const std::string key = KeyOf(spec);
  for (std::size_t i = 0; i < params_.size(); ++i) {
    Param& param = params_[i];
    const bool same =
        KeyOf(param.spec) == key ||
        std::find(param.sharers.begin(), param.sharers.end(), key) != param.sharers.end();
    const bool shared = !spec.def.name.empty() && spec.def.name == param.spec.def.name;
    if (!same && !shared) continue;
    const bool counts =
        spec.def.permissive && spec.layout.elements() == param.spec.layout.elements();
    if (spec.layout != param.spec.layout && !counts) return Disagreement(spec, param);
    if (!same) param.sharers.push_back(key);
    return ParamId{i};
  }
  params_.push_back({.spec = spec, .offset = floats_, .gradient_offset = floats_, .sharers = {}});
  floats_ += params_.back().floats();
  return ParamId{params_.size() - 1};
}

void ParamStore::OrderGradients(std::span<const ParamId> front) {
  SHOAL_CHECK_EQ(gradients_.size(), 0U);
  std::vector<bool> placed(params_.size(), false);
  std::size_t offset = 0;
  const auto place = [&](std::size_t i) {
    params_[i].gradient_offset = offset;
    offset += params_[i].floats();
    placed[i] = true;
  };
  for (const ParamId id : front) {
    SHOAL_CHECK(!placed[static_cast<std::size_t>(id)]);
    place(static_cast<std::size_t>(id));
  }
  for (std::size_t i = 0; i < params_.size(); ++i) {
    if (!placed[i]) place(i);
  }
}

Status ParamStore::Allocate(std::uint64_t seed, bool gradients) {
  if (allocated_ < params_.size()) SHOAL_RETURN_IF_ERROR(Grow(floats_, values_));
  if (gradients && gradients_.size() < floats_ * sizeof(float)) {
    SHOAL_RETURN_IF_ERROR(Grow(floats_, gradients_));
  }
  for (; allocated_ < params_.size(); ++allocated_) {
    const ParamSpec& spec = params_[allocated_].spec;
    std::vector<float> file(spec.layout.elements());
    const Status filled = Fill(spec.filler, spec.layout.shape(), seed, allocated_, file);
    if (!filled.ok()) {
      return Status(filled.code(), "layer '" + spec.layer + "': " + std::string(filled.message()));
    }
    spec.layout.FromFile(file, value(ParamId{allocated_}));
  }
  return {};
}

std::span<float> ParamStore::value(ParamId id) {
  const Param& param = (*this)[id];
  return Floats(values_).subspan(param.offset, param.spec.layout.elements());
}

std::span<float> ParamStore::gradient(ParamId id) {
  const Param& param = (*this)[id];
  return Floats(gradients_).subspan(param.gradient_offset, param.spec.layout.elements());
}

std::span<float> ParamStore::values() { return Floats(values_); }
std::span<float> ParamStore::gradients() { return Floats(gradients_); }

std::size_t ParamStore::elements() const {
  std::size_t sum = 0;
  for (const Param& param : params_) sum += param.spec.layout.elements();
  return sum;
}

}  // namespace shoal::nn
