#!/bin/bash
# Line and branch coverage of the core by its fast tests: what of lib/transport, lib/path, lib/cc and
# lib/wire they reach, a table per file. Fails, naming them, if one of these directories or all of
# them together lie below 90 % of lines or 80 % of branches. Branches that only an exception takes,
# that no source line stands for, and those of assert() are left out.
# usage: coverage.sh [HTML_DIRECTORY]   (for gcovr's report line by line)
set -euo pipefail
. "$(dirname "$0")/lib.sh"

directories=(lib/transport lib/path lib/cc lib/wire)
suites=(transport path cc wire vectors)
min_lines=90
min_branches=80

[ $# -le 1 ] && [[ ${1:-} != -* ]] || { echo "usage: $0 [HTML_DIRECTORY]" >&2; exit 2; }
html=()
if [ $# -eq 1 ]; then
  mkdir -p "$1"
  html=(--html-details "$(cd "$1" && pwd)/index.html")
fi

cd "$root"
need_packages build coverage
build=build-coverage
# Not optimised: a line then counts as what is written there.
configure "$build" -Db_coverage=true -Dbuildtype=debug
# Counts of an earlier run, or of files that are gone, are not this run's.
find "$build" -name '*.gcda' -delete
meson test -C "$build" --logbase coverage --print-errorlogs --timeout-multiplier 4 "${suites[@]}" >&2

summary=$build/meson-logs/coverage-summary.json
gcovr --root . "$build" "${directories[@]/#/--filter=}" --exclude-throw-branches \
  --exclude-unreachable-branches --exclude-branches-by-pattern '\s*assert\(.*' \
  --json-summary "$summary" "${html[@]}"
python3 test/checks/coverage_table.py "$summary" "$min_lines" "$min_branches" "${directories[@]}"
