// printf into a string: screens are composed before they are shown, and tests read them.
#pragma once

#include <cstdint>
#include <string>

namespace softmrc::apps::pmd {

[[gnu::format(printf, 1, 2)]] std::string format(const char* text, ...);

// "1 QP", "4 QPs".
std::string counted(uint64_t number, const char* what);

}  // namespace softmrc::apps::pmd
