// libpng reports errors like libjpeg; jpeg.cc says what follows from that.
#include <png.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/check.h"
#include "data/image.h"

namespace shoal::data {
namespace {

struct Reader {
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }

  png_structp png = nullptr;
  png_infop info = nullptr;
  const unsigned char* bytes = nullptr;
  std::size_t left = 0;
  char message[128] = "";
  // From the header.
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  std::size_t row_bytes = 0;
  bool gray = false;  // One channel comes out.
  int passes = 1;
};

[[noreturn]] void Leave(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof(reader->message), "%s", message);
  png_longjmp(png, 1);
}

void IgnoreWarning(png_structp /*png*/, png_const_charp /*message*/) {}

void Take(png_structp png, png_bytep out, std::size_t size) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (size > reader->left) png_error(png, "ends too early");
  for (std::size_t i = 0; i < size; ++i) out[i] = reader->bytes[i];
  reader->bytes += size;
  reader->left -= size;
}

// 8 bits a channel, no palette, no transparency, blue first. Colours become gray later: libpng
// would weigh them by the gamma that the file claims.
void Normalise(Reader& r, Colors colors, int stored) {
  const bool stored_gray = (stored & PNG_COLOR_MASK_COLOR) == 0;
  r.gray = stored_gray && colors != Colors::kColor;
  png_set_expand(r.png);
  png_set_strip_16(r.png);
  png_set_strip_alpha(r.png);
  if (stored_gray && !r.gray) png_set_gray_to_rgb(r.png);
  if (!r.gray) png_set_bgr(r.png);
  r.passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  r.row_bytes = png_get_rowbytes(r.png, r.info);
}

bool ReadHeader(Reader& r, Colors colors) {
  if (setjmp(png_jmpbuf(r.png)) != 0) return false;  // NOLINT
  // Ancillary chunks (profiles, comments) are skipped, so none can ask for much memory.
  png_set_keep_unknown_chunks(r.png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_set_chunk_malloc_max(r.png, 1U << 20U);
  png_set_read_fn(r.png, &r, Take);
  png_read_info(r.png, r.info);
  r.width = png_get_image_width(r.png, r.info);
  r.height = png_get_image_height(r.png, r.info);
  Normalise(r, colors, png_get_color_type(r.png, r.info));
  return true;
}

bool ReadRows(Reader& r, unsigned char* out) {
  if (setjmp(png_jmpbuf(r.png)) != 0) return false;  // NOLINT
  for (int pass = 0; pass < r.passes; ++pass) {
    for (png_uint_32 y = 0; y < r.height; ++y) {
      png_read_row(r.png, out + y * r.row_bytes, nullptr);
    }
  }
  png_read_end(r.png, nullptr);
  return true;
}

Status ErrorOf(const Reader& reader) {
  return Status(Code::kCorruption, std::string("PNG: ") + reader.message);
}

}  // namespace

namespace internal {

Status DecodePng(std::string_view bytes, Colors colors, std::int64_t pixels_max, Image& out) {
  Reader r;
  r.bytes = reinterpret_cast<const unsigned char*>(bytes.data());
  r.left = bytes.size();
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, Leave, IgnoreWarning);
  if (r.png != nullptr) r.info = png_create_info_struct(r.png);
  if (r.info == nullptr) return Status(Code::kResourceExhausted, "PNG: no memory");
  if (!ReadHeader(r, colors)) return ErrorOf(r);
  SHOAL_RETURN_IF_ERROR(Allocate(r.height, r.width, r.gray ? 1 : 3, pixels_max, out));
  SHOAL_CHECK_EQ(r.row_bytes, static_cast<std::size_t>(out.width * out.channels));
  if (!ReadRows(r, out.pixels.data())) return ErrorOf(r);
  if (colors == Colors::kGray) ToGray(out);
  return {};
}

}  // namespace internal

Result<std::string> EncodePng(const Image& image) {
  SHOAL_CHECK(image.channels == 1 || image.channels == 3);
  SHOAL_CHECK_EQ(image.pixels.size(),
                 static_cast<std::size_t>(image.channels * image.height * image.width));
  // libpng's simple interface: returns its errors.
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_BGR;
  png_alloc_size_t size = 0;
  if (!png_image_write_get_memory_size(png, size, 0, image.pixels.data(), 0, nullptr)) {
    return Status(Code::kInvalidArgument, std::string("PNG: ") + png.message);
  }
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr)) {
    return Status(Code::kInvalidArgument, std::string("PNG: ") + png.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace shoal::data
