#!/bin/bash
# The one test command. Usage: scripts/test.sh [CLASS...], all classes without one:
#
#   checks    formatting, layering, hygiene, every header alone      (test/checks)
#   build     everything, plain, warnings are errors                 (build/)
#   fast      unit tests                                             (meson suite "fast")
#   asan      the same under AddressSanitizer and UBSan, then ten million
#             mutated packets into a live endpoint                   (build-asan/)
#   scenario  whole nodes in one process
#   e2e       processes over DPDK vdevs, the kernel as SRv6 fabric
#   fuzz      the parser for a minute, with clang                    (build-fuzz/)
#   tidy      clang-tidy on what changed lately
#
# A failure stops nothing; the exit status and the last line, "N passed, N failed", tell. Perf tests
# are not run here: on a shared machine their figures decide nothing.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

passed=0
failed=0
skipped=0
failures=()
timings=()

# count NAME STATUS
count() {
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$1")
  fi
}

# one NAME COMMAND...: a step that is one test by itself
one() {
  local name=$1
  shift
  "$@"
  count "$name" $?
}

# suite DIRECTORY SUITE MESON_TEST_OPTION...: counts every test of the suite. Not one: a failure.
suite() {
  local directory=$1 suite=$2 log status ok bad skip name
  shift 2
  log=$directory/meson-logs/$suite.json
  rm -f "$log"
  meson test -C "$directory" --suite "$suite" --logbase "$suite" --print-errorlogs "$@"
  status=$?
  read -r ok bad skip < <(python3 test/checks/count_tests.py "$log")
  passed=$((passed + ok))
  failed=$((failed + bad))
  skipped=$((skipped + skip))
  while read -r name; do
    failures+=("$suite: $name")
  done < <(python3 test/checks/count_tests.py --failures "$log")
  # The runner's own word counts too: tests that did not build left no line in the log.
  [ "$bad" -gt 0 ] || [ $((status == 0 && ok + skip > 0)) -eq 1 ] ||
    count "$suite: did not build or has no tests" 1
}

run_checks() {
  one format test/checks/format.sh
  one layering python3 test/checks/layering.py
  one layering-self-test python3 test/checks/layering.py --self-test
  one hygiene python3 test/checks/hygiene.py
  one hygiene-self-test python3 test/checks/hygiene.py --self-test
  one headers test/checks/headers.sh
  one tutorial python3 test/checks/tutorial.py
  one tutorial-self-test python3 test/checks/tutorial.py --self-test
}

run_build() {
  configure build -Dwerror=true
  one build ninja -C build -j "$jobs" -k 0
}

run_fast() { suite build fast; }

run_asan() {
  # Leaks count, none is suppressed.
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  if configure build-asan -Db_sanitize=address,undefined -Doptimization=1; then
    suite build-asan fast --timeout-multiplier 4
    HOSTILE_PACKETS=10000000 suite build-asan hostile --timeout-multiplier 4
  else
    count 'asan: not configured' 1
  fi
  unset ASAN_OPTIONS UBSAN_OPTIONS
}

# Nodes that spin share the cores badly: one test at a time. Chaos runs take seeds that nobody has
# seen before; which ones, the log says.
run_scenario() {
  CHAOS_FIRST=${CHAOS_FIRST:-$(date +%s)000}
  export CHAOS_FIRST
  echo "chaos: 2000 seeds from $CHAOS_FIRST on; again: scripts/chaos.sh --seeds 2000 --first $CHAOS_FIRST"
  suite build scenario --num-processes 1
}
run_e2e() { suite build e2e --num-processes 1; }
run_fuzz() { one fuzz bash scripts/fuzz.sh 60; }
run_tidy() { one tidy test/checks/tidy.sh build; }

all=(checks build fast asan scenario e2e fuzz tidy)
[ $# -gt 0 ] || set -- "${all[@]}"
for class in "$@"; do
  [[ " ${all[*]} " == *" $class "* ]] || die "no class '$class'; there are: ${all[*]}"
done

cd "$root" || exit 1
(need_packages build test) || { echo '0 passed, 1 failed'; exit 1; }
for class in "$@"; do
  echo
  echo "=== $class"
  [ -f build/build.ninja ] || [ "$class" = checks ] || configure build -Dwerror=true
  begin=$SECONDS
  "run_$class"
  timings+=("$(printf '%-9s %4d s' "$class" $((SECONDS - begin)))")
done

echo
echo '=== summary'
printf '%s\n' "${timings[@]}"
[ ${#failures[@]} -eq 0 ] || printf 'FAILED: %s\n' "${failures[@]}"
[ "$skipped" -eq 0 ] || echo "$skipped skipped (each says why in build/meson-logs)"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
