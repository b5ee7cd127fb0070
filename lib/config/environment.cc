// Environment variables in device strings, as the shell writes them.
#include <cstdlib>

#include "config/sections.h"

namespace softmrc::config {

std::string expand_environment(const Value& value) {
  const std::string text = value.text();
  std::string result;
  size_t done = 0;
  for (size_t at; (at = text.find("${", done)) != std::string::npos;) {
    const size_t end = text.find('}', at);
    if (end == std::string::npos) throw value.error("'${' without '}'");
    result += text.substr(done, at - done);
    const std::string inside = text.substr(at + 2, end - at - 2);
    const size_t dash = inside.find(":-");
    const std::string name = inside.substr(0, dash);
    if (name.empty()) throw value.error("'${}' names no variable");
    const char* found = std::getenv(name.c_str());
    if (found != nullptr && (*found != '\0' || dash == std::string::npos)) {
      result += found;
    } else if (dash != std::string::npos) {
      result += inside.substr(dash + 2);
    } else {
      throw value.error("environment variable " + name + " is not set, and ${" + name +
                        ":-default} gives no default");
    }
    done = end + 1;
  }
  return result + text.substr(done);
}

}  // namespace softmrc::config
