// The admin door: who is in the cluster, and telling nodes to leave. Every request proves the
// admin key ("Authorization: Bearer KEY").
//
//   GET  /shoal/nodes
//   POST /shoal/nodes/ID/drain        its layers move to others, then it may go
//   POST /shoal/nodes/ID/evict        it is out, and its certificate revoked
//   POST /shoal/nodes/ID/label        {"label": "kitchen"}
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/http.h"
#include "base/node_id.h"
#include "base/status.h"

namespace shoal::api {

struct NodeSummary {
  NodeId id{};
  std::string label = {};
  std::string address = {};
  std::string state = {};                   // "up", "draining", "down"
  std::optional<std::size_t> replica = {};  // The pipeline that it serves, if one …
  std::optional<std::size_t> answers = {};  // … and how many answers run there.
  std::size_t layer_begin = 0;
  std::size_t layer_end = 0;  // One past the last; equal to layer_begin: it has none.
  std::optional<std::uint64_t> memory_free_bytes = {};
  std::optional<double> battery_percent = {};
  std::optional<double> temperature_c = {};
};

// What the coordinator offers. Of a node that it does not know: kNotFound.
class AdminSource {
 public:
  virtual ~AdminSource() = default;
  virtual std::vector<NodeSummary> Nodes() const = 0;
  virtual Status Drain(NodeId node) = 0;
  virtual Status Evict(NodeId node) = 0;
  virtual Status Label(NodeId node, const std::string& label) = 0;
};

inline constexpr std::size_t kLabelBytesMax = 64;

class AdminDoor {
 public:
  // `source` outlives it. Without a key nobody is let in.
  AdminDoor(AdminSource& source, std::string key) : source_(source), key_(std::move(key)) {}

  // REQUIRES: the path begins with "/shoal/".
  void Handle(const Request& request, Responder& responder);

 private:
  bool IsAdmin(const Request& request) const;
  void ListNodes(Responder& responder) const;
  // `rest`: the path behind "/shoal/nodes/".
  void Act(const Request& request, std::string_view rest, Responder& responder);

  AdminSource& source_;
  std::string key_;
};

}  // namespace shoal::api
