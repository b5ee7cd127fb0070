#include "text.h"

#include <cstdarg>
#include <cstdio>

namespace softmrc::apps::pmd {

std::string format(const char* text, ...) {
  va_list arguments, again;
  va_start(arguments, text);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, text, arguments);
  va_end(arguments);
  std::string result(static_cast<size_t>(size), '\0');
  std::vsnprintf(result.data(), result.size() + 1, text, again);
  va_end(again);
  return result;
}

std::string counted(uint64_t number, const char* what) {
  return format("%llu %s%s", static_cast<unsigned long long>(number), what, number == 1 ? "" : "s");
}

}  // namespace softmrc::apps::pmd
