// The admin door: who is in the cluster, and telling nodes to leave. Every request proves the
// admin key ("Authorization: Bearer KEY").
//
//   GET  /shoal/status                everything, see cluster_report.h
//   GET  /shoal/nodes
//   POST /shoal/nodes/ID/drain        its layers move to others, then it may go
//   POST /shoal/nodes/ID/evict        it is out, and its certificate revoked
//   POST /shoal/nodes/ID/undrain      it may work again
//   POST /shoal/nodes/ID/pardon       whatever it computed wrongly, it gets work again
//   POST /shoal/nodes/ID/label        {"label": "kitchen"}
//   POST /shoal/nodes/ID/set          {"duty": 0.5, "only_charging": true, "hours": "22-7",
//                                      "floor_percent": 15, "trusted": true}: when and how hard it
//                                      may work. What is
//                                     not named stays, null is as for all nodes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/cluster_report.h"
#include "api/http.h"
#include "base/node_id.h"
#include "base/status.h"
#include "base/work_rules.h"

namespace shoal::api {

// What the coordinator offers. Of a node that it does not know: kNotFound.
class AdminSource {
 public:
  virtual ~AdminSource() = default;
  virtual std::vector<NodeSummary> Nodes() const = 0;
  virtual ClusterReport Report() const = 0;
  virtual Status Drain(NodeId node, bool draining) = 0;
  virtual Status Evict(NodeId node) = 0;
  virtual Status Pardon(NodeId node) = 0;
  virtual Status Label(NodeId node, const std::string& label) = 0;
  virtual Result<WorkRules> Rules(NodeId node) const = 0;
  virtual Status SetRules(NodeId node, const WorkRules& rules) = 0;
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
  void GiveReport(Responder& responder) const;
  // `rest`: the path behind "/shoal/nodes/".
  void Act(const Request& request, std::string_view rest, Responder& responder);
  Status Do(NodeId node, std::string_view verb, const std::string& body);

  AdminSource& source_;
  std::string key_;
};

}  // namespace shoal::api
