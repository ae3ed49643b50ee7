// Lets the clients of an HTTP server in through the door.
#pragma once

#include "api/door.h"
#include "os/net/http_server.h"

namespace shoal {

// `door` outlives the server.
os::HttpServer::Handler HandlerOf(api::Door& door);

}  // namespace shoal
