#!/bin/sh
# Checks the codec against a file of golden packets (test/vectors/README.md): builds and parses every
# one, names the first field that differs, ends with "N passed, N failed" and fails if any failed.
# usage: check-vectors.sh FILE
set -eu

if [ $# -ne 1 ]; then
  echo "usage: $0 FILE" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SOFTMRC_BUILD_DIR:-$root/build}

# The build's own output goes to stderr: stdout is the result's.
[ -f "$build/build.ninja" ] || meson setup "$build" "$root" >&2
ninja -C "$build" test/vectors/check_vectors >&2
exec "$build/test/vectors/check_vectors" "$1"
