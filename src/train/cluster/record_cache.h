// RecordCache: the records of a data set that a worker has, of all that there are. The head sends
// what is missing, and who has something keeps it. On flash: os/flash/record_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "data/record.h"

namespace shoal::train {

// Thread-safe: images are read by one thread while the next records come on another.
class RecordCache : public data::RecordSource {
 public:
  // False, too, for what is not of the data set. True: Read will work, unless room is made for
  // others meanwhile (see Hold) or flash loses bits.
  virtual bool Has(std::int64_t index) const = 0;

  // Keeps a record: a Datum (data/datum.h), serialised, as it is in an LMDB. What is there already
  // stays as it is. kInvalidArgument: no such index; kCorruption: not a Datum. Any other failure
  // says why it will not survive the process, and Has whether it is there until then.
  virtual Status Put(std::int64_t index, std::span<const std::byte> datum) = 0;

  // What is read next, here or still to come: others get no room at its cost. Until the next call.
  virtual void Hold(std::span<const std::int64_t> indices) = 0;

  // What it has, in order; for the head, when a worker is ready. A few may turn out to be damaged
  // when they are asked for.
  virtual std::vector<std::int64_t> Present() const = 0;

  // As data::RecordSource::Read, for any index. kNotFound: it is not here.
  Status Read(std::int64_t index, data::Record& out) const override = 0;
};

}  // namespace shoal::train
