// A node for tests: does nothing of its own and writes down what happens to it, so that
// a test can tell a story and compare it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sim/world.h"

namespace shoal::sim {

class Recorder final : public NetworkEvents {
 public:
  virtual ~Recorder() = default;

  void OnPeerUp(NodeId peer) override { Note("up " + Name(peer)); }
  void OnPeerDown(NodeId peer, const Status& why) override {
    Note("down " + Name(peer) + " " + std::string(CodeName(why.code())));
  }
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override {
    Note("frame " + Name(from) + " " + std::to_string(static_cast<int>(traffic)) + " " +
         std::to_string(frame.empty() ? 0 : std::to_integer<int>(frame[0])));
    frames.push_back(std::move(frame));
  }
  void OnWritable(NodeId peer, Traffic traffic) override {
    Note("writable " + Name(peer) + " " + std::to_string(static_cast<int>(traffic)));
  }

  void Note(std::string line) { log.push_back(std::move(line)); }
  bool Saw(const std::string& line) const { return Count(line) > 0; }
  int Count(const std::string& line) const {
    int count = 0;
    for (const std::string& entry : log) count += entry == line ? 1 : 0;
    return count;
  }

  std::vector<std::string> log;
  std::vector<Frame> frames;

 private:
  static std::string Name(NodeId id) { return std::to_string(ToNumber(id)); }
};

// A World of `count` nodes, 1 to `count`, each with a Recorder that outlives its process.
class RecordedWorld {
 public:
  explicit RecordedWorld(std::size_t count, const WorldOptions& options = {})
      : recorders_(count + 1), world_(options) {
    for (std::size_t i = 1; i <= count; ++i) {
      world_.AddNode(NodeId{i}, [this, i](const Surroundings& around) {
        recorders_[i].Note("start");
        around.network.Attach(&recorders_[i]);
        return std::make_unique<Program>();
      });
    }
  }

  World& world() { return world_; }
  Recorder& at(std::size_t i) { return recorders_[i]; }
  Network& network(std::size_t i) { return world_.SurroundingsOf(NodeId{i}).network; }
  Clock& clock(std::size_t i) { return world_.SurroundingsOf(NodeId{i}).clock; }
  Executor& executor(std::size_t i) { return world_.SurroundingsOf(NodeId{i}).executor; }

  void Connect(std::size_t from, std::size_t to) {
    network(from).Connect(NodeId{to}, "sim:" + std::to_string(to));
  }
  // Connects and forgets what was noted until then.
  void Join(std::size_t from, std::size_t to) {
    Connect(from, to);
    world_.RunFor(std::chrono::seconds(1));
    at(from).log.clear();
    at(to).log.clear();
  }
  Status Send(std::size_t from, std::size_t to, Traffic traffic, std::size_t bytes,
              int first_byte = 0) {
    Frame frame(bytes);
    if (bytes > 0) frame[0] = static_cast<std::byte>(first_byte);
    return network(from).Send(NodeId{to}, traffic, std::move(frame));
  }

 private:
  std::vector<Recorder> recorders_;
  World world_;
};

}  // namespace shoal::sim
