// Lines from a pipe: whole ones only, in order, the last one also without its end.
#include "mrc-pmd/prompt.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/file_descriptor.h"

using namespace softmrc::apps;
using namespace softmrc::apps::pmd;

TEST_CASE("lines are taken as they become whole") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  FileDescriptor reader(ends[0]), writer(ends[1]);
  const auto write = [&](const std::string& text) {
    REQUIRE(::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  Prompt prompt(reader.get());
  CHECK_FALSE(prompt.take());
  write("sta");
  CHECK_FALSE(prompt.take());
  write("rt\nstop\n\nqui");
  CHECK(prompt.take() == "start");
  CHECK(prompt.take() == "stop");
  CHECK(prompt.take() == "");
  CHECK_FALSE(prompt.take());
  CHECK_FALSE(prompt.ended());
  write("t");
  writer = FileDescriptor();
  CHECK(prompt.take() == "quit");
  CHECK_FALSE(prompt.take());
  CHECK(prompt.ended());
}
