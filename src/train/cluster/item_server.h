// ItemServer: the head's side of item_fetcher.h: sends what workers ask for, as fast as their links
// take it.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/network.h"
#include "base/status.h"
#include "wire/control.h"

namespace shoal::train {

// A record of the data set as LMDB has it.
using ReadRecord = std::function<Result<std::string>(std::int64_t index)>;

class ItemServer {
 public:
  // `network` outlives it. `job`: the serialised TrainJob, of a data set of `records`.
  ItemServer(Network& network, std::string job, std::int64_t records, ReadRecord read);

  const std::string& id() const { return id_; }

  // kInvalidArgument: about another job, or records that there are not. Other failures are the
  // data set's.
  Status OnAsk(NodeId node, const wire::pb::TrainAsk& ask);
  Status OnWritable(NodeId node) { return Pump(node); }
  void Forget(NodeId node) { peers_.erase(node); }

 private:
  static constexpr std::int64_t kJob = -1;
  struct Peer {
    std::deque<std::int64_t> waiting;          // Records, or kJob.
    std::shared_ptr<const std::string> bytes;  // Of the first that waits, once read …
    std::size_t sent = 0;                      // … and how much of it has gone.
  };

  Status Pump(NodeId node);

  Network& network_;
  const std::shared_ptr<const std::string> job_;
  const std::string id_;
  const std::int64_t records_;
  const ReadRecord read_;
  std::map<NodeId, Peer> peers_;
};

// What a job is called: a fingerprint of its bytes.
std::string JobId(const std::string& job);

}  // namespace shoal::train
