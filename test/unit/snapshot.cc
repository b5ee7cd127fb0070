#include "snapshot.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace softmrc::test {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// What only one of the two has, in order.
std::string difference(const std::string& file, const std::string& now) {
  const auto a = lines_of(file), b = lines_of(now);
  std::string out;
  size_t i = 0;
  for (const std::string& line : b) {
    const auto at = std::find(a.begin() + static_cast<ptrdiff_t>(i), a.end(), line);
    if (at == a.end()) {
      out += "+ " + line + "\n";
      continue;
    }
    for (; a.begin() + static_cast<ptrdiff_t>(i) != at; ++i) out += "- " + a[i] + "\n";
    ++i;
  }
  for (; i < a.size(); ++i) out += "- " + a[i] + "\n";
  return out;
}

}  // namespace

void check_snapshot(const std::string& path, const std::string& text) {
  std::ifstream in(path);
  std::stringstream file;
  file << in.rdbuf();
  if (file.str() == text) {
    SUCCEED();
    return;
  }
  if (std::getenv("SOFTMRC_REFRESH_SNAPSHOTS") != nullptr) {
    std::ofstream(path) << text;
    WARN("written: " << path);
    return;
  }
  FAIL_CHECK("the table is not what "
             << path << " holds (-), but (+):\n"
             << difference(file.str(), text)
             << "If that is meant: SOFTMRC_REFRESH_SNAPSHOTS=1, run again, "
                "commit the file.");
}

}  // namespace softmrc::test
