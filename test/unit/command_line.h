// Command lines as tests write them, for parsers of argc and argv.
#pragma once

#include <string>
#include <vector>

namespace softmrc::test {

// What `parse` makes of `program WORD...`.
template <typename Parse>
auto parse_words(const char* program, std::vector<std::string> words, Parse parse) {
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  return parse(static_cast<int>(argv.size()), argv.data());
}

}  // namespace softmrc::test
