// MpiTransport: tagged messages between ranks, without waiting. What is sent to one rank arrives
// there in order; a message to the own rank never sees MPI.
//
// Belongs to one thread. The owner is called from Poll only.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/network.h"
#include "base/status.h"

namespace shoal::os {

class MpiTransportOwner {
 public:
  virtual ~MpiTransportOwner() = default;
  // The message has left; its memory is free.
  virtual void OnSent(int to, int tag, std::size_t bytes) = 0;
  virtual void OnMessage(int from, int tag, Frame message) = 0;
};

class MpiTransport {
 public:
  static Result<std::unique_ptr<MpiTransport>> Start();
  // Drops what comes until all ranks are here, and ends MPI.
  ~MpiTransport();
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  void Send(int to, int tag, Frame message);

  // Moves what can be moved. False: there was nothing.
  bool Poll(MpiTransportOwner& owner);

  Status AllReduceSum(std::span<const float> in, std::span<float> out);

 private:
  struct Sending {
    int to = 0;
    int tag = 0;
    Frame message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Receiving {
    int tag = 0;
    Frame message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Local {
    int tag = 0;
    Frame message;
  };

  MpiTransport();

  bool DeliverLocal(MpiTransportOwner& owner);
  bool CompleteSends(MpiTransportOwner& owner);
  bool BeginReceives();
  bool CompleteReceives(MpiTransportOwner& owner);

  MPI_Comm comm_ = MPI_COMM_NULL;  // Our own: nobody else's messages are in it.
  int rank_ = 0;
  int size_ = 1;
  std::list<Sending> sending_;
  std::vector<std::deque<Receiving>> receiving_;  // By rank, in order.
  std::size_t receiving_bytes_ = 0;
  std::deque<Local> local_;
};

}  // namespace shoal::os
