// The Network contract over real sockets of one process: every node has a loop of its
// own (so it can be frozen) and every pair a cable, and one thread runs them in turn.
#pragma once

#include "contract/network_harness.h"

namespace shoal {

NetworkUnderTest TcpUnderTest();
NetworkUnderTest TlsUnderTest();

}  // namespace shoal
