#!/bin/bash
# Latency where threads outnumber cores: ib_write_lat, which polls its memory and drives nothing while
# it waits, beside mrc-perf, which drives all the time. Each in turn, five times; the median of the medians
# of ib_write_lat must not exceed three times that of mrc-perf.
# Expects MRC_RUN, PERF, JSON_GET and CONFIG in the environment.
set -euo pipefail
. "$(dirname "$0")/perftest_lib.sh"

rounds=5 writes=10000
nanoseconds() { awk '{printf "%d\n", $1 * 1000}'; }
median() { sort -n | sed -n "$((rounds / 2 + 1))p"; }

theirs=() ours=()
for ((round = 0; round < rounds; ++round)); do
  works ib_write_lat -s 2 -n $writes
  theirs+=("$(awk '$1 == 2 && $2 == '$writes' {print $5}' "$run/client.out" | nanoseconds)")
  pair server --client --mode lat --size 2 --iterations $writes
  ours+=("$(get client /results/0/half_round_trip/t_typical_us | nanoseconds)")
done
echo "ib_write_lat, ns: ${theirs[*]}; mrc-perf, ns: ${ours[*]}"
theirs=$(printf '%s\n' "${theirs[@]}" | median)
ours=$(printf '%s\n' "${ours[@]}" | median)
check 'both have measured' "$ours > 500 && $theirs > 500"
check 'median of ib_write_lat at most three times that of mrc-perf' "$theirs <= 3 * $ours"
