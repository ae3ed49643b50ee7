// libjpeg reports errors by not returning: error_exit has to leave with longjmp, which may
// not pass over an object with a destructor. So each function that calls setjmp calls only
// libjpeg, keeps only plain values, and is called by one that owns everything else.
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// After <cstdio>, whose FILE it needs.
#include <jerror.h>
#include <jpeglib.h>

#include "base/check.h"
#include "data/image.h"

namespace shoal::data {
namespace {

// A progressive image is decoded scan by scan, each over all pixels; without a limit a few
// kilobytes can ask for hours. Encoders write about ten.
constexpr int kScansMax = 200;

struct ErrorState {
  jpeg_error_mgr manager;  // First: libjpeg knows only this part.
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
  bool too_many_scans;
};

[[noreturn]] void Leave(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  info->err->format_message(info, state->message);
  std::longjmp(state->leave, 1);  // NOLINT: see the top of the file.
}

// Warnings: libjpeg would go on with gray where data is missing. Those that mean missing or
// wrong pixels end the decoding; the rest is sloppiness of encoders.
void Warn(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      Leave(info);
    default:
      return;
  }
}

void CheckScans(j_common_ptr info) {
  if (!info->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kScansMax) return;
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  state->too_many_scans = true;
  std::longjmp(state->leave, 1);  // NOLINT: as in Leave.
}

void SetUpErrors(ErrorState& state) {
  jpeg_std_error(&state.manager);
  state.manager.error_exit = Leave;
  state.manager.emit_message = Warn;
}

Status ErrorOf(const ErrorState& state) {
  if (state.too_many_scans) return Status(Code::kCorruption, "JPEG with too many scans");
  return Status(Code::kCorruption, std::string("JPEG: ") + state.message);
}

struct Decompressor {
  Decompressor() {
    SetUpErrors(errors);
    info.err = &errors.manager;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }  // Also of one that was never created.
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  jpeg_decompress_struct info{};
  ErrorState errors{};
  jpeg_progress_mgr progress{};
};

// False: errors.message says why. After true, info has the size and the number of components.
bool ReadHeader(Decompressor& d, const unsigned char* bytes, unsigned long size) {  // NOLINT
  if (setjmp(d.errors.leave) != 0) return false;                                    // NOLINT
  jpeg_create_decompress(&d.info);
  d.progress.progress_monitor = CheckScans;
  d.info.progress = &d.progress;
  jpeg_mem_src(&d.info, bytes, size);
  jpeg_read_header(&d.info, TRUE);
  return true;
}

// Fills rows of `row_bytes`, all of them.
bool ReadRows(Decompressor& d, unsigned char* out, std::size_t row_bytes) {
  if (setjmp(d.errors.leave) != 0) return false;  // NOLINT
  jpeg_start_decompress(&d.info);
  while (d.info.output_scanline < d.info.output_height) {
    JSAMPROW row = out + d.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&d.info, &row, 1);
  }
  jpeg_finish_decompress(&d.info);
  return true;
}

// Adobe's inverted CMYK, which is what photographs in it are, to BGR.
void FromCmyk(const std::vector<std::uint8_t>& cmyk, Image& out) {
  for (std::size_t i = 0; i < cmyk.size() / 4; ++i) {
    const unsigned k = cmyk[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      out.pixels[3 * i + c] = static_cast<std::uint8_t>(cmyk[4 * i + 2 - c] * k / 255);
    }
  }
}

Status DecodeCmyk(Decompressor& d, Colors colors, std::int64_t pixels_max, Image& out) {
  SHOAL_RETURN_IF_ERROR(
      internal::Allocate(d.info.image_height, d.info.image_width, 3, pixels_max, out));
  d.info.out_color_space = JCS_CMYK;
  std::vector<std::uint8_t> cmyk(out.pixels.size() / 3 * 4);
  if (!ReadRows(d, cmyk.data(), std::size_t{d.info.image_width} * 4)) return ErrorOf(d.errors);
  FromCmyk(cmyk, out);
  if (colors == Colors::kGray) internal::ToGray(out);
  return {};
}

struct Compressor {
  Compressor() {
    SetUpErrors(errors);
    info.err = &errors.manager;
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(bytes);  // NOLINT: libjpeg allocated it with malloc.
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  jpeg_compress_struct info{};
  ErrorState errors{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type.
};

bool WriteRows(Compressor& c, const Image& image, int quality) {
  if (setjmp(c.errors.leave) != 0) return false;  // NOLINT
  jpeg_create_compress(&c.info);
  jpeg_mem_dest(&c.info, &c.bytes, &c.size);
  c.info.image_width = static_cast<JDIMENSION>(image.width);
  c.info.image_height = static_cast<JDIMENSION>(image.height);
  c.info.input_components = static_cast<int>(image.channels);
  c.info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
  jpeg_set_defaults(&c.info);
  jpeg_set_quality(&c.info, quality, TRUE);
  jpeg_start_compress(&c.info, TRUE);
  const auto row_bytes = static_cast<std::size_t>(image.width * image.channels);
  while (c.info.next_scanline < c.info.image_height) {
    // libjpeg does not write to what it compresses.
    JSAMPROW row = const_cast<JSAMPROW>(image.pixels.data()) + c.info.next_scanline * row_bytes;
    jpeg_write_scanlines(&c.info, &row, 1);
  }
  jpeg_finish_compress(&c.info);
  return true;
}

}  // namespace

namespace internal {

Status DecodeJpeg(std::string_view bytes, Colors colors, std::int64_t pixels_max, Image& out) {
  Decompressor d;
  if (!ReadHeader(d, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size())) {
    return ErrorOf(d.errors);
  }
  if (d.info.jpeg_color_space == JCS_CMYK || d.info.jpeg_color_space == JCS_YCCK) {
    return DecodeCmyk(d, colors, pixels_max, out);
  }
  const bool gray = colors == Colors::kGray ||
                    (colors == Colors::kAsStored && d.info.jpeg_color_space == JCS_GRAYSCALE);
  d.info.out_color_space = gray ? JCS_GRAYSCALE : JCS_EXT_BGR;
  SHOAL_RETURN_IF_ERROR(
      Allocate(d.info.image_height, d.info.image_width, gray ? 1 : 3, pixels_max, out));
  if (!ReadRows(d, out.pixels.data(), static_cast<std::size_t>(out.width * out.channels))) {
    return ErrorOf(d.errors);
  }
  return {};
}

}  // namespace internal

Result<std::string> EncodeJpeg(const Image& image, int quality) {
  SHOAL_CHECK(image.channels == 1 || image.channels == 3);
  SHOAL_CHECK_EQ(image.pixels.size(),
                 static_cast<std::size_t>(image.channels * image.height * image.width));
  if (image.width > JPEG_MAX_DIMENSION || image.height > JPEG_MAX_DIMENSION) {
    return Status(Code::kInvalidArgument, "too large for a JPEG");
  }
  Compressor c;
  if (!WriteRows(c, image, quality)) return ErrorOf(c.errors);
  return std::string(reinterpret_cast<const char*>(c.bytes), c.size);
}

}  // namespace shoal::data
