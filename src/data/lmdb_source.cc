#include "data/lmdb_source.h"

#include "data/datum.h"

namespace shoal::data {

Result<LmdbSource> LmdbSource::Open(const std::string& path, Colors colors) {
  SHOAL_ASSIGN_OR_RETURN(LmdbReader reader, LmdbReader::Open(path));
  return LmdbSource(std::move(reader), colors);
}

Status LmdbSource::Read(std::int64_t index, Record& out) const {
  Status status = DecodeDatum(reader_.Value(index), colors_, out);
  if (status.ok()) return status;
  const Result<std::string> key = reader_.Key(index);
  return std::move(status).Annotate(reader_.path() + ": record " + std::to_string(index) +
                                    (key.ok() ? " \"" + *key + "\"" : ""));
}

Result<std::optional<std::string>> LmdbSource::ReadEncoded(std::int64_t index) const {
  Result<std::string> image = ImageOfDatum(reader_.Value(index));
  if (image.ok()) return std::optional(*std::move(image));
  if (image.status().code() == Code::kInvalidArgument) return std::optional<std::string>();
  return std::move(image).status();
}

}  // namespace shoal::data
