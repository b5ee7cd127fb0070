// Declared tables, printed in a stable form and compared with a text file beside the test: a change
// of the table then shows in review as a change of that file.
#pragma once

#include <string>

namespace softmrc::test {

// Catch2 check: `text` is what the file holds. Else the lines that differ are shown, and how to
// take `text` over: run the test with SOFTMRC_REFRESH_SNAPSHOTS=1, which writes the file.
void check_snapshot(const std::string& path, const std::string& text);

}  // namespace softmrc::test
