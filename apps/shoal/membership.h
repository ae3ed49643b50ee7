// How a device comes to its membership: from its directory, or from a head that invited it.
#pragma once

#include <string>

#include "base/status.h"
#include "os/cluster/node_directory.h"
#include "os/loop.h"

namespace shoal {

// What a person typed. Without head and token: the device has joined before.
struct Invitation {
  std::string head;         // "192.168.1.5:7401"
  std::string token;        // "SHOAL1-..."
  std::string device_name;  // Empty: DefaultDeviceName().
};

struct Membership {
  os::NodeFiles files;
  bool is_new = false;  // It joined just now.
};

// The membership in `home`, or, if there is none, one made with `invitation` and kept there:
// the line that joined a device may be used again to start it. Blocks until the head has
// answered. kInvalidArgument: refused, not a token, or `home` belongs to another cluster.
Result<Membership> BecomeMember(os::Loop& loop, const std::string& home,
                                const Invitation& invitation);

}  // namespace shoal
