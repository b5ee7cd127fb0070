#!/bin/bash
# scripts/netns-srv6.sh leaves no namespace behind: after success, after a failure, after Ctrl-C and
# with two runs at once. Stand-ins take the place of mrc-perf: what is tested is the script.
# Usage: netns_cleanup_test.sh NETNS_SRV6_SH
set -u
script=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

left() { ip netns list | grep -c "^mrc$1-"; }
expect() {  # WHAT GOT WANTED
  [ "$2" -eq "$3" ] && return
  echo "$1: got $2, expected $3"
  failures=$((failures + 1))
}

"$script" --fabric-only >"$scratch/log" 2>&1 &
first=$!
"$script" --fabric-only >/dev/null 2>&1 &
second=$!
wait $first
status=$?
[ $status -ne 77 ] || { cat "$scratch/log"; wait $second; exit 77; }
expect 'first of two at once' $status 0
wait $second
expect 'second of two at once' $? 0
expect 'namespaces after success' "$(($(left $first) + $(left $second)))" 0

MRC_PERF=/bin/false "$script" >/dev/null 2>&1 &
wait $!
expect 'a program that fails' $? 1
expect 'namespaces after a failure' "$(left $!)" 0

# Interrupted while its programs run. A background job of a script ignores SIGINT: SIGTERM it is.
printf '#!/bin/sh\ntouch "%s/running"\nexec sleep 60\n' "$scratch" >"$scratch/program"
chmod +x "$scratch/program"
MRC_PERF=$scratch/program "$script" >/dev/null 2>&1 &
victim=$!
for _ in $(seq 300); do [ -e "$scratch/running" ] && break; sleep 0.1; done
kill -TERM $victim
wait $victim
expect 'interrupted' $? 143
expect 'namespaces after an interrupt' "$(left $victim)" 0

[ $failures -eq 0 ] && echo 'nothing left behind'
exit $((failures > 0))
