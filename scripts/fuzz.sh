#!/bin/sh
# Builds the parser's fuzz target with clang, AddressSanitizer and UBSan, and runs it from the seed
# corpus. Fails on a crash, whose input is kept and named.
# usage: fuzz.sh [SECONDS]   (default 60)
set -eu

seconds=${1:-60}
case $seconds in
  '' | *[!0-9]* | 0) echo "usage: $0 [SECONDS]" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SOFTMRC_FUZZ_BUILD_DIR:-$root/build-fuzz}

if command -v clang++-14 >/dev/null; then
  CC=clang-14 CXX=clang++-14
else
  CC=clang CXX=clang++
fi
export CC CXX

[ -f "$build/build.ninja" ] || meson setup "$build" "$root" -Dfuzzers=true \
  -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized
ninja -C "$build" test/fuzz/parser_fuzz

# The fuzzer adds to its corpus: it gets a copy.
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
cp "$root"/test/fuzz/corpus/parser/* "$corpus"
mkdir -p "$build/crashes"

UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$build/test/fuzz/parser_fuzz" \
  -max_total_time="$seconds" -max_len=4608 -artifact_prefix="$build/crashes/" \
  -print_final_stats=1 "$corpus"
