#include "contract/cable.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "os/loop_internal.h"
#include "os/net/endpoint_internal.h"

namespace shoal {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// What an access point holds for a station: some 170 packets, 210 ms at 10 Mb/s. A
// sender that fills it is late by its own doing.
constexpr std::size_t kQueueBytesMax = std::size_t{256} << 10;
// Hidden buffers that no real link has: as small as the kernel lets them be useful.
constexpr int kSocketBufferBytes = 16 << 10;
constexpr std::size_t kChunkBytes = std::size_t{4} << 10;
// Ethernet's, so that small buffers hold several segments.
constexpr int kSegmentBytes = 1448;

template <class Socket>
void MakeShallow(Socket& socket) {
  socket.set_option(boost::asio::socket_base::receive_buffer_size(kSocketBufferBytes));
  socket.set_option(boost::asio::socket_base::send_buffer_size(kSocketBufferBytes));
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_MAXSEG, &kSegmentBytes,
             sizeof(kSegmentBytes));
}

struct Pipe;

// One way through one connection.
struct Lane {
  tcp::socket* source = nullptr;
  tcp::socket* sink = nullptr;
  std::size_t line = 0;
  bool reading = false;
  bool writing = false;
  std::array<char, kChunkBytes> buffer{};
  std::deque<std::vector<char>> out;  // Through the queue, not yet taken by the sink.
  std::size_t pending_bytes = 0;      // In the queue and in `out`.
};

struct Pipe {
  explicit Pipe(tcp::socket dialler_socket)
      : dialler(std::move(dialler_socket)), acceptor(dialler.get_executor()) {}
  tcp::socket dialler;
  tcp::socket acceptor;
  std::array<Lane, 2> lanes;  // From the dialler, to the dialler.
  bool swallowing = false;
  bool closed = false;
};

struct Chunk {
  std::shared_ptr<Pipe> pipe;
  std::size_t lane = 0;
  std::vector<char> bytes;  // Empty: the end of the stream.
  Instant due;
};

struct Line {
  std::deque<Chunk> queue;
  std::size_t queued_bytes = 0;
  Instant free_at;
  TimerId timer{};
};

}  // namespace

struct Cable::Impl : std::enable_shared_from_this<Cable::Impl> {
  explicit Impl(os::Loop& its_loop)
      : loop(its_loop),
        doors{tcp::acceptor(os::LoopInternals::Context(loop)),
              tcp::acceptor(os::LoopInternals::Context(loop))} {}

  // Door 0 leads from the first node to the second, door 1 back.
  void Open(std::size_t door, const std::string& target) {
    targets[door] = *os::ParseEndpoint(target);
    const tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
    doors[door].open(any.protocol());
    MakeShallow(doors[door]);
    doors[door].bind(any);
    doors[door].listen();
    AcceptNext(door);
  }

  void AcceptNext(std::size_t door) {
    doors[door].async_accept(
        [this, self = shared_from_this(), door](const error_code& error, tcp::socket socket) {
          if (error) return;
          Join(door, std::move(socket));
          AcceptNext(door);
        });
  }

  void Join(std::size_t door, tcp::socket socket) {
    auto pipe = std::make_shared<Pipe>(std::move(socket));
    pipes.push_back(pipe);
    pipe->lanes[0].source = pipe->lanes[1].sink = &pipe->dialler;
    pipe->lanes[0].sink = pipe->lanes[1].source = &pipe->acceptor;
    pipe->lanes[0].line = door;
    pipe->lanes[1].line = 1 - door;
    if (cut) {
      pipe->swallowing = true;
      return ReadMore(pipe, 0);
    }
    pipe->acceptor.open(targets[door].protocol());
    MakeShallow(pipe->acceptor);
    pipe->acceptor.async_connect(targets[door],
                                 [this, self = shared_from_this(), pipe](const error_code& error) {
                                   if (error) return ClosePipe(pipe);
                                   error_code ignored;
                                   pipe->dialler.set_option(tcp::no_delay(true), ignored);
                                   pipe->acceptor.set_option(tcp::no_delay(true), ignored);
                                   ReadMore(pipe, 0);
                                   ReadMore(pipe, 1);
                                 });
  }

  void ReadMore(const std::shared_ptr<Pipe>& pipe, std::size_t index) {
    Lane& lane = pipe->lanes[index];
    const bool full =
        lines[lane.line].queued_bytes >= kQueueBytesMax || lane.pending_bytes >= kQueueBytesMax;
    if (pipe->closed || lane.reading || (full && !pipe->swallowing)) return;
    lane.reading = true;
    lane.source->async_read_some(
        boost::asio::buffer(lane.buffer),
        [this, self = shared_from_this(), pipe, index](const error_code& error, std::size_t n) {
          pipe->lanes[index].reading = false;
          if (pipe->closed) return;
          if (!pipe->swallowing) Enqueue(pipe, index, error ? 0 : n);
          if (!error) ReadMore(pipe, index);
        });
  }

  void Enqueue(const std::shared_ptr<Pipe>& pipe, std::size_t index, std::size_t n) {
    Lane& lane = pipe->lanes[index];
    Line& line = lines[lane.line];
    const Duration takes(bits_per_second > 0 ? static_cast<std::int64_t>(static_cast<double>(n) *
                                                                         8e9 / bits_per_second)
                                             : 0);
    line.free_at = std::max(line.free_at, loop.Now()) + takes;
    const auto first = lane.buffer.begin();
    line.queue.push_back({.pipe = pipe,
                          .lane = index,
                          .bytes = {first, first + static_cast<std::ptrdiff_t>(n)},
                          .due = line.free_at});
    line.queued_bytes += n;
    lane.pending_bytes += n;
    Deliver(lane.line);
  }

  void Deliver(std::size_t index) {
    Line& line = lines[index];
    while (!line.queue.empty() && line.queue.front().due <= loop.Now()) {
      Chunk chunk = std::move(line.queue.front());
      line.queue.pop_front();
      line.queued_bytes -= chunk.bytes.size();
      if (chunk.pipe->closed || chunk.pipe->swallowing) continue;
      if (chunk.bytes.empty()) {
        ClosePipe(chunk.pipe);
        continue;
      }
      chunk.pipe->lanes[chunk.lane].out.push_back(std::move(chunk.bytes));
      WriteMore(chunk.pipe, chunk.lane);
    }
    loop.Cancel(line.timer);
    if (!line.queue.empty()) {
      line.timer = loop.CallAt(line.queue.front().due, [this, index] {
        Deliver(index);
        for (const auto& pipe : std::list(pipes)) {
          ReadMore(pipe, 0);
          ReadMore(pipe, 1);
        }
      });
    }
  }

  void WriteMore(const std::shared_ptr<Pipe>& pipe, std::size_t index) {
    Lane& lane = pipe->lanes[index];
    if (lane.writing || lane.out.empty() || pipe->closed) return;
    lane.writing = true;
    boost::asio::async_write(
        *lane.sink, boost::asio::buffer(lane.out.front()),
        [this, self = shared_from_this(), pipe, index](const error_code& error, std::size_t n) {
          Lane& written = pipe->lanes[index];
          written.writing = false;
          if (pipe->closed || pipe->swallowing) return;
          if (error) return ClosePipe(pipe);
          written.pending_bytes -= n;
          written.out.pop_front();
          WriteMore(pipe, index);
          ReadMore(pipe, index);
        });
  }

  void ClosePipe(const std::shared_ptr<Pipe>& pipe) {
    error_code ignored;
    pipe->closed = true;
    pipe->dialler.close(ignored);
    pipe->acceptor.close(ignored);
    pipes.remove(pipe);
  }

  void SwallowAll() {
    for (const auto& pipe : std::list(pipes)) {
      pipe->swallowing = true;
      ReadMore(pipe, 0);
      if (pipe->acceptor.is_open()) ReadMore(pipe, 1);
    }
  }

  void Shut() {
    error_code ignored;
    for (tcp::acceptor& door : doors) door.close(ignored);
    for (Line& line : lines) loop.Cancel(line.timer);
    for (const auto& pipe : std::list(pipes)) ClosePipe(pipe);
  }

  os::Loop& loop;
  bool cut = false;
  double bits_per_second = 0;
  std::array<tcp::acceptor, 2> doors;
  std::array<tcp::endpoint, 2> targets;
  std::array<Line, 2> lines;
  std::list<std::shared_ptr<Pipe>> pipes;
};

Cable::Cable(os::Loop& loop, const std::string& first_end, const std::string& second_end)
    : impl_(std::make_shared<Impl>(loop)) {
  impl_->Open(0, second_end);
  impl_->Open(1, first_end);
}

Cable::~Cable() { impl_->Shut(); }

std::string Cable::AddressOfSecond() const {
  return os::FormatEndpoint(impl_->doors[0].local_endpoint());
}
std::string Cable::AddressOfFirst() const {
  return os::FormatEndpoint(impl_->doors[1].local_endpoint());
}
void Cable::Cut() {
  impl_->cut = true;
  impl_->SwallowAll();
}
void Cable::Repair() { impl_->cut = false; }
void Cable::Limit(double bits_per_second) { impl_->bits_per_second = bits_per_second; }

}  // namespace shoal
