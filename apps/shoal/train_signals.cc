#include <csignal>

#include "shoal/train_command.h"

namespace shoal {
namespace {

volatile std::sig_atomic_t stop_asked = 0;
volatile std::sig_atomic_t snapshot_asked = 0;

void OnSignal(int signal) { (signal == SIGHUP ? snapshot_asked : stop_asked) = 1; }

}  // namespace

void ListenToTrainSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    action.sa_flags = signal == SIGHUP ? SA_RESTART : static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

TrainSignals TakeTrainSignals() {
  const TrainSignals signals{.stop = stop_asked != 0, .snapshot = snapshot_asked != 0};
  snapshot_asked = 0;
  return signals;
}

}  // namespace shoal
