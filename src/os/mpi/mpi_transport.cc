#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "base/check.h"
#include "os/mpi/mpi_transport_internal.h"

namespace shoal::os {
namespace {

// Of messages on their way in. More wait at their senders: MPI holds back all but small ones.
constexpr std::size_t kReceivingBytesMax = std::size_t{64} << 20;
// Elements of one MPI_Allreduce, which counts in int.
constexpr std::size_t kReduceElementsMax = std::size_t{1} << 28;
// Between two looks while the ranks wait for each other at the end.
constexpr std::chrono::microseconds kFinishNap(500);

bool IsDone(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

// Nobody is left to hear of it.
class Deaf final : public MpiTransportOwner {
 public:
  void OnSent(int /*to*/, int /*tag*/, std::size_t /*bytes*/) override {}
  void OnMessage(int /*from*/, int /*tag*/, Frame /*message*/) override {}
};

}  // namespace

Result<std::unique_ptr<MpiTransport>> MpiTransport::Start() {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) {
    return Status(Code::kInvalidArgument, "MPI was started before, and cannot be again");
  }
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return Status(Code::kUnavailable, "MPI_Init_thread failed");
  }
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    return Status(Code::kUnavailable, "this MPI is not made for programs with threads");
  }
  return std::unique_ptr<MpiTransport>(new MpiTransport);
}

// An error of MPI after this ends the program, as MPI does by default: nobody can go on.
MpiTransport::MpiTransport() {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  receiving_.resize(static_cast<std::size_t>(size_));
}

// Whoever is in the barrier has nothing on its way out; when all are, nothing is on its way.
MpiTransport::~MpiTransport() {
  Deaf deaf;
  while (!sending_.empty()) {
    if (!Poll(deaf)) std::this_thread::sleep_for(kFinishNap);
  }
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm_, &barrier);
  while (!IsDone(barrier)) {
    if (!Poll(deaf)) std::this_thread::sleep_for(kFinishNap);
  }
  while (receiving_bytes_ > 0) Poll(deaf);
  MPI_Comm_free(&comm_);
  MPI_Finalize();
}

void MpiTransport::Send(int to, int tag, Frame message) {
  if (to == rank_) {
    local_.push_back({.tag = tag, .message = std::move(message)});
    return;
  }
  Sending& sending =
      sending_.emplace_back(Sending{.to = to, .tag = tag, .message = std::move(message)});
  MPI_Isend(sending.message.data(), static_cast<int>(sending.message.size()), MPI_BYTE, to, tag,
            comm_, &sending.request);
}

bool MpiTransport::Poll(MpiTransportOwner& owner) {
  const bool local = DeliverLocal(owner);
  const bool sent = CompleteSends(owner);
  const bool begun = BeginReceives();
  const bool received = CompleteReceives(owner);
  return local || sent || begun || received;
}

// Those that are sent meanwhile have their turn at the next Poll.
bool MpiTransport::DeliverLocal(MpiTransportOwner& owner) {
  std::deque<Local> messages = std::exchange(local_, {});
  for (Local& local : messages) {
    owner.OnSent(rank_, local.tag, local.message.size());
    owner.OnMessage(rank_, local.tag, std::move(local.message));
  }
  return !messages.empty();
}

bool MpiTransport::CompleteSends(MpiTransportOwner& owner) {
  std::list<Sending> sent;
  for (auto next = sending_.begin(); next != sending_.end();) {
    const auto sending = next++;
    if (IsDone(sending->request)) sent.splice(sent.end(), sending_, sending);
  }
  for (const Sending& sending : sent) {
    owner.OnSent(sending.to, sending.tag, sending.message.size());
  }
  return !sent.empty();
}

bool MpiTransport::BeginReceives() {
  bool begun = false;
  while (receiving_bytes_ < kReceivingBytesMax) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &message, &status);
    if (found == 0) break;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Receiving& receiving = receiving_[static_cast<std::size_t>(status.MPI_SOURCE)].emplace_back();
    receiving.tag = status.MPI_TAG;
    receiving.message.resize(static_cast<std::size_t>(bytes));
    receiving_bytes_ += receiving.message.size() + 1;  // Empty ones count as well.
    MPI_Imrecv(receiving.message.data(), bytes, MPI_BYTE, &message, &receiving.request);
    begun = true;
  }
  return begun;
}

bool MpiTransport::CompleteReceives(MpiTransportOwner& owner) {
  bool received = false;
  for (int from = 0; from < size_; ++from) {
    std::deque<Receiving>& messages = receiving_[static_cast<std::size_t>(from)];
    while (!messages.empty() && IsDone(messages.front().request)) {
      Receiving done = std::move(messages.front());
      messages.pop_front();
      receiving_bytes_ -= done.message.size() + 1;
      received = true;
      owner.OnMessage(from, done.tag, std::move(done.message));
    }
  }
  return received;
}

Status MpiTransport::AllReduceSum(std::span<const float> in, std::span<float> out) {
  SHOAL_CHECK_EQ(in.size(), out.size());
  while (!in.empty()) {
    const std::size_t n = std::min(in.size(), kReduceElementsMax);
    const int error = MPI_Allreduce(in.data(), out.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD);
    if (error != MPI_SUCCESS) return {Code::kUnavailable, "MPI_Allreduce failed"};
    in = in.subspan(n);
    out = out.subspan(n);
  }
  return {};
}

}  // namespace shoal::os
