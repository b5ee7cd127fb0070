#!/bin/bash
# clang-tidy (.clang-tidy) on the sources that changed: against main where this is a branch of it, else
# (on main, in a fresh clone) in the last commits. Bounded: at most so many files, the newest first;
# what is left out is said. Usage: tidy.sh BUILD_DIRECTORY [FILE...]
set -uo pipefail
cd "$(dirname "$0")/../.."
build=$1
shift
commits=20
most=24
seconds_per_file=180

changed() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null)
  if [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ]; then
    git diff --name-only "$base"
  else
    git log -n "$commits" --name-only --format=
  fi
  git diff --name-only HEAD
}

git rev-parse HEAD >/dev/null || exit 1
[ -f "$build/compile_commands.json" ] || { echo "$build is not configured"; exit 1; }
if [ $# -eq 0 ]; then
  # A file that is not compiled in this build (fuzzers, C that must not compile) has no command.
  mapfile -t files < <(changed | grep -E '\.(cc|c)$' | awk '!seen[$0]++' | while read -r file; do
    [ -f "$file" ] && grep -q "/$file\"" "$build/compile_commands.json" && echo "$file"
  done)
  if [ ${#files[@]} -gt $most ]; then
    echo "left out: $((${#files[@]} - most)) of ${#files[@]} files"
    files=("${files[@]:0:$most}")
  fi
else
  files=("$@")
fi
[ ${#files[@]} -gt 0 ] || { echo 'nothing changed'; exit 0; }

printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" timeout "$seconds_per_file" clang-tidy-14 --quiet -p "$build" 2>&1 |
  grep -vE '^[0-9]+ warnings? (generated|treated)'
status=("${PIPESTATUS[@]}")
exit "${status[1]}"
