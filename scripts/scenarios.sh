#!/bin/bash
# Runs mrc-sim's scenarios, two at a time where memory allows, and gathers what came out in one page.
# usage: scenarios.sh [--json DIR] [FILE...]     (all of config/sim without FILE)
#
# DIR (build/scenarios without it) gets, per scenario, what it printed (.log) and its results (.json).
# The page is build/scenarios.html. The exit status and the last line, "N passed, N failed", tell
# whether every scenario met what it expects.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

# What takes longest, by measured cost, the costliest last: all else is known by then.
long=(uec/permutation-16mb permutation loss-16mb t1-reboot links-down cold-start fabric-4096 loss-1gb
  fabric-131072 fabric-131072-t1-dies)
at_once=2
alone=' fabric-131072 fabric-131072-t1-dies '  # some 12 GiB of memory each
memory_kib=$((16 << 20))  # of each, address space

results=$root/build/scenarios
while [ $# -gt 0 ]; do
  case $1 in
    --json) [ $# -ge 2 ] || die '--json: which directory?'; results=$(realpath -m "$2"); shift 2 ;;
    -*) die "usage: $0 [--json DIR] [FILE...]" ;;
    *) break ;;
  esac
done

# name_of FILE: where its results go, within $results.
name_of() {
  local path
  path=$(realpath "$1")
  case $path in
    "$root"/config/sim/*) path=${path#"$root"/config/sim/} ;;
    *) path=$(basename "$path") ;;
  esac
  echo "${path%.yaml}"
}

files=()
if [ $# -gt 0 ]; then
  for file in "$@"; do
    [ -f "$file" ] || die "no file $file"
    files+=("$(realpath "$file")")
  done
else
  late=()
  for name in "${long[@]}"; do
    late+=("$root/config/sim/$name.yaml")
  done
  while read -r file; do
    [[ " ${late[*]} " == *" $file "* ]] || files+=("$file")
  done < <(find "$root/config/sim" -name '*.yaml' | LC_ALL=C sort)
  for file in "${late[@]}"; do
    [ -f "$file" ] || die "$file is gone: take it from the list of long ones"
    files+=("$file")
  done
fi

mapfile -t twice < <(for file in "${files[@]}"; do name_of "$file"; done | sort | uniq -d)
[ ${#twice[@]} -eq 0 ] || die "two files of the same name: ${twice[*]}"

cd "$root" || exit 1
need_packages build report || exit 1
[ -f build/build.ninja ] || configure build || exit 1
ninja -C build -j "$jobs" apps/mrc-sim >build/scenarios-build.log 2>&1 ||
  { cat build/scenarios-build.log; die 'mrc-sim does not build'; }

# run FILE: one scenario; its log and results, and a line when it is done.
run() {
  local name begin=$SECONDS status verdict=ok
  name=$(name_of "$1")
  mkdir -p "$results/$(dirname "$name")"
  rm -f "$results/$name.json"
  (ulimit -v "$memory_kib"; exec build/apps/mrc-sim --json "$results/$name.json" "$1") \
    >"$results/$name.log" 2>&1
  status=$?
  [ $status -eq 0 ] || verdict=FAILED
  printf '%-7s %-28s %4d s\n' "$verdict" "$name" $((SECONDS - begin))
  [ $status -eq 0 ] || grep -E '^FAILED|^mrc-sim:' "$results/$name.log" || tail -n 3 "$results/$name.log"
  return $status
}

# Each job is a process group, so that whoever stops this stops what it runs.
set -m
trap 'for job in $(jobs -p); do kill -- "-$job"; done; exit 130' INT TERM

passed=0
failed=0
running=0
reap() {
  if wait -n; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  running=$((running - 1))
}
for file in "${files[@]}"; do
  most=$at_once
  [[ "$alone" != *" $(name_of "$file") "* ]] || most=1
  while [ $running -ge $most ]; do
    reap
  done
  run "$file" &
  running=$((running + 1))
done
while [ $running -gt 0 ]; do
  reap
done

arguments=()
for file in "${files[@]}"; do
  name=$(name_of "$file")
  if [ -f "$results/$name.json" ]; then
    arguments+=("$results/$name.json")
  else
    arguments+=(--failed "$results/$name.log")
  fi
done
note="Seen on $(git describe --always --dirty 2>/dev/null || echo 'a tree without git')."
if python3 scripts/sim_report --note "$note" -o build/scenarios.html "${arguments[@]}"; then
  echo "the page: build/scenarios.html"
else
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
