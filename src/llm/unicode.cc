#include "llm/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace shoal::llm {
namespace {

bool IsWhiteSpace(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

std::uint16_t CategoryClass(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetterUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLetterLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetterOther;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return kSymbol;
    default:
      return 0;
  }
}

std::uint16_t ComputeClasses(char32_t code) {
  std::uint16_t classes = CategoryClass(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
  if (IsWhiteSpace(code)) classes |= kSpace;
  if (code == '\r' || code == '\n') classes |= kNewline;
  return classes;
}

// Most text is ASCII, and a look-up in utf8proc's tables costs more than all else here.
const std::array<std::uint16_t, 128>& AsciiClasses() {
  static const std::array<std::uint16_t, 128> classes = [] {
    std::array<std::uint16_t, 128> all{};
    for (char32_t code = 0; code < 128; ++code) all[code] = ComputeClasses(code);
    return all;
  }();
  return classes;
}

}  // namespace

std::uint16_t ClassesOf(char32_t code) {
  return code < 128 ? AsciiClasses()[code] : ComputeClasses(code);
}

char32_t ToUpper(char32_t code) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}

char32_t ToLower(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

std::string ComposedForm(std::string_view text) {
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &composed,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  SHOAL_CHECK(size >= 0);  // Only for invalid text, or without memory.
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(composed, std::free);
  return {reinterpret_cast<const char*>(composed), static_cast<std::size_t>(size)};
}

}  // namespace shoal::llm
