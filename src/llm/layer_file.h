// A Layer in a file as it is used in memory: mapped, its weights are read where they are. The same
// layer has the same bytes on every CPU. All numbers are little-endian:
//
//   "SHLY"; U32: version, kernels::kPackedRevision, number of records; U64: bytes of the file
//   records of 48 bytes, of attention_norm, q, k, v, output, (q_bias, k_bias, v_bias,)
//   (q_norm, k_norm,) ffn_norm, (router,) and gate, up and down of every expert, in this order:
//     U8 type (0: F32, 1: F16, 2: packed), U8 PackedForm, U16 0, F32 unit of packed weights,
//     U64: rows, k, offset, bytes; U64: the offset of the order of the inputs, k U32; 0: none
//   the numbers of each record and then its order, each from the next multiple of 64 on
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "llm/layer.h"
#include "llm/model_config.h"

namespace shoal::llm {

// Takes the next bytes of a file.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

// Fails as `sink` does. REQUIRES: `layer` is of a model with this `config`.
Status WriteLayer(const Layer& layer, const ModelConfig& config, const ByteSink& sink);

// How many bytes that writes.
std::uint64_t LayerFileBytes(const Layer& layer, const ModelConfig& config);

// `file` must outlive the layer, whose matrices refer to it; `name` is for messages. kCorruption:
// not a layer of a model with this `config`, or of another version. Whatever the numbers in it are,
// a Stage can compute with the layer. REQUIRES: `config` was checked by whoever read it; `file`
// begins at a multiple of 64, as mappings do.
Result<Layer> ReadLayer(std::string_view name, std::span<const std::byte> file,
                        const ModelConfig& config);

}  // namespace shoal::llm
