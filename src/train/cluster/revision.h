// Which training a program can take part in.
#pragma once

#include <cstdint>

namespace shoal::train {

// Of the messages in proto/train.proto, and of what is trained for a job: whoever changes what a
// worker does with either makes it one more. Nodes with another number are not given work, because
// they would leave out what they do not know.
inline constexpr std::uint32_t kTrainingRevision = 2;

}  // namespace shoal::train
