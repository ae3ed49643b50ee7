#include "data/load_sample.h"

#include <string>

namespace shoal::data {
namespace {

std::string Text(const ImageShape& shape) {
  return std::to_string(shape.channels) + " x " + std::to_string(shape.height) + " x " +
         std::to_string(shape.width);
}

}  // namespace

Status SampleReader::Read(std::int64_t index, Cursor at, Record& scratch, float* image,
                          float& label) const {
  SHOAL_RETURN_IF_ERROR(source.Read(index, scratch));
  SHOAL_ASSIGN_OR_RETURN(const ImageShape found, transform.OutputShape(scratch));
  if (found != shape) {
    return Status(Code::kInvalidArgument, "record " + std::to_string(index) + " is " + Text(found) +
                                              ", the first is " + Text(shape) +
                                              ": give a crop_size, or images of one size");
  }
  transform.Apply(scratch, at, image, stride);
  label = static_cast<float>(scratch.label);
  return {};
}

}  // namespace shoal::data
