// Reads one number or text out of a JSON file, for shell tests.
//
//   json_get FILE POINTER          the value at /a/0/b
//   json_get FILE POINTER VALUE    how many of the values that POINTER matches equal VALUE
//
// A part of POINTER may be * (all members of an array) or key=value (those members that have it);
// the numbers matched are then added up. Exit 1: nothing there.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void match(const json& at, const std::string& pointer, std::vector<json>& found) {
  if (pointer.empty()) {
    found.push_back(at);
    return;
  }
  const size_t end = pointer.find('/', 1);
  const std::string part = pointer.substr(1, end == std::string::npos ? end : end - 1);
  const std::string rest = end == std::string::npos ? "" : pointer.substr(end);
  const size_t equals = part.find('=');
  if (part == "*" || equals != std::string::npos) {
    for (const json& member : at) {
      if (equals != std::string::npos &&
          text_of(member.at(part.substr(0, equals))) != part.substr(equals + 1))
        continue;
      match(member, rest, found);
    }
  } else {
    match(at.is_array() ? at.at(std::stoul(part)) : at.at(part), rest, found);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: json_get FILE POINTER [VALUE]\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    std::vector<json> found;
    match(json::parse(file), argv[2], found);
    if (argc == 4) {
      size_t count = 0;
      for (const json& value : found) count += text_of(value) == argv[3];
      std::cout << count << "\n";
      return 0;
    }
    if (found.empty()) return 1;
    if (found.size() == 1) {
      std::cout << text_of(found[0]) << "\n";
      return 0;
    }
    uint64_t sum = 0;
    for (const json& value : found) sum += value.get<uint64_t>();
    std::cout << sum << "\n";
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s %s: %s\n", argv[1], argv[2], error.what());
    return 1;
  }
}
