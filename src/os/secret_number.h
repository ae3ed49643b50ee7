// Numbers that nobody can guess, from the system.
#pragma once

#include <cstdint>

namespace shoal::os {

// Aborts on a system that has no random numbers: it could not have keys, either. Thread-safe.
std::uint64_t SecretNumber();

}  // namespace shoal::os
