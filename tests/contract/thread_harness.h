// The Network contract between threads, without threads: every node has a loop of its own, and one
// thread runs them in turn. os/net/thread_network_test.cc has real ones.
#pragma once

#include "contract/network_harness.h"

namespace shoal {

NetworkUnderTest ThreadUnderTest();

}  // namespace shoal
