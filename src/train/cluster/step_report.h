// What a STEP that is done has come to, by what its workers say of it. Pure functions.
#pragma once

#include "train/cluster/chief_round.h"
#include "train/cluster/crew.h"
#include "train/cluster/keeper.h"
#include "train/cluster/timeline.h"
#include "wire/control.h"

namespace shoal::train {

// How long a worker has loaded and computed.
double BusySeconds(const wire::pb::TrainDone& done);

// Its loss and its timeline. `times`: those of the head, without workers. Samples stay where they
// are. REQUIRES: a STEP; who has done it is in the crew.
CommittedStep ReportStep(const ChiefRound& round, const Crew& crew, StepTimeline times);

}  // namespace shoal::train
