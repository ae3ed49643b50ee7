// From what a data layer says to the data set it means.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "data/record.h"
#include "data/sample_order.h"
#include "data/source_def.h"

namespace shoal::data {

// Opens what `def` names. kInvalidArgument: the images are to come from the program
// (MemoryDef). Failures name the layer.
Result<std::shared_ptr<const RecordSource>> OpenSource(const SourceDef& def);

// Another one whenever the files that `def` names hold something else: as far as their sizes and
// times of change tell, and, of a list, its text. The same on this machine only.
std::uint64_t StampOf(const SourceDef& def);

// Whether the samples are shuffled, and how many at most are skipped at the start: what a
// loader needs to know beside the source.
bool IsShuffled(const SourceDef& def);
std::int64_t RandSkip(const SourceDef& def);

}  // namespace shoal::data
