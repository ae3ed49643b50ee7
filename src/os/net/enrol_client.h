// Enrol: how a device becomes a member. It makes a key, shows its join token to the head,
// and comes back with a certificate. The token says which head to believe: one whose
// authority has the token's hash, and before that is proven nothing secret is sent.
#pragma once

#include <string>

#include "base/status.h"
#include "base/time.h"
#include "os/cluster/node_directory.h"
#include "os/loop.h"
#include "wire/join_token.h"

namespace shoal::os {

struct EnrolOptions {
  std::string head;  // "192.168.1.5:7401": the head's enrolment port.
  wire::JoinToken token;
  std::string device_name;  // At most wire::kDeviceNameBytesMax bytes of plain text.
  std::string program_version;
  Duration connect_max = std::chrono::seconds(10);
  Duration silence_max = std::chrono::seconds(10);
};

// Blocks until the head has answered. Nothing is written to disk here. `loop` is asked for
// the time only.
// kInvalidArgument: refused, or the head is not the one that the token means; the message
// says which and what to do. kUnavailable, kDeadlineExceeded: the head cannot be reached.
Result<NodeFiles> Enrol(Loop& loop, const EnrolOptions& options);

}  // namespace shoal::os
