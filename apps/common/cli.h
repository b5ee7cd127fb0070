// What CLI11 lacks: options whose text one of our parsers reads.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace softmrc::apps {

// A validator that says what was expected of the text it refuses.
template <typename Parse>
CLI::Validator parses_as(Parse parse, const std::string& expected) {
  return CLI::Validator(
      [parse, expected](std::string& text) {
        return parse(text) ? std::string() : "\"" + text + "\" is not " + expected;
      },
      expected);
}

template <typename T, typename Parse>
CLI::Option* add_parsed(CLI::App* app, const std::string& flags, T* target, Parse parse,
                        const std::string& expected, const std::string& help) {
  return app
      ->add_option_function<std::string>(
          flags, [target, parse](const std::string& text) { *target = *parse(text); }, help)
      ->check(parses_as(parse, expected));
}

}  // namespace softmrc::apps
