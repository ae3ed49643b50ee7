// The Asio context under a Loop, for what in os/ waits for sockets.
#pragma once

#include <boost/asio/io_context.hpp>

#include "os/loop.h"

namespace shoal::os {

struct LoopInternals {
  static boost::asio::io_context& Context(Loop& loop);
};

}  // namespace shoal::os
