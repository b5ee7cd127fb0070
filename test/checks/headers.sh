#!/bin/bash
# Every header compiles alone and twice, warnings are errors: the public ones as C99 and as C++20, the
# project's own as C++20.
set -uo pipefail
cd "$(dirname "$0")/../.."

packages='libdpdk libibverbs yaml-cpp spdlog CLI11 nlohmann_json liburcu-qsbr libisal catch2'
# As system headers: warnings of other people's headers are not ours.
mapfile -t flags < <(pkg-config --cflags $packages | tr ' ' '\n' | sed 's/^-I/-isystem/' | grep .)
warnings='-fmax-errors=2 -Wall -Wextra -Wshadow -pedantic -Werror'
export flags_text="${flags[*]}" warnings

compile() {  # LANGUAGE HEADER FLAG...
  local language=$1 header=$2
  shift 2
  printf '#include "%s"\n#include "%s"\nextern int used;\n' "$header" "$header" |
    "$([ "$language" = c ] && echo cc || echo c++)" -x "$language" -fsyntax-only $warnings "$@" - ||
    { echo "$header does not compile alone as $language"; return 1; }
}
public() { compile c "$1" -std=c99 -Iinclude && compile c++ "$1" -std=c++20 -Iinclude; }
internal() {
  compile c++ "$1" -std=c++20 -D_GNU_SOURCE -DALLOW_EXPERIMENTAL_API -Ilib -Iinclude -Iapps $flags_text
}
export -f compile public internal

status=0
git ls-files -z 'include/*.h' | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'public "$0"' || status=1
git ls-files -z 'lib/*.h' 'drivers/*.h' 'apps/*.h' 'test/*.h' |
  xargs -0 -r -n 1 -P "$(nproc)" bash -c 'internal "$0"' || status=1
exit $status
