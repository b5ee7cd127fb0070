#!/bin/bash
# Writes of all sizes that packets make interesting, with and without immediate, verified, between two
# processes that start in either order.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

for first in server client; do
  echo "== writes, $first first"
  pair $first --client --size 1,4096,4097,1M --iterations 64 --verify
  check 'all sizes were measured' "$(get client '/results/*/messages') == 4 * 64"
done

echo '== 64 MiB'
pair server --client --size 64M --iterations 3 --verify
check 'bytes placed' "$(get server /local/transport/payload_bytes_received) >= 3 * 64 * 1048576"

echo '== writes with immediate, more than there are receives at a time'
pair client --client --op write-imm --size 0,1,4096,4097,1M --iterations 1300 --verify
check 'messages' "$(get client '/results/*/messages') == 5 * 1300"

echo '== both directions, several QPs, unequal shares of completions'
pair server --server --bidirectional --client --bidirectional --qps 4 --size 1,4097,64K \
  --iterations 200 --signal-every 7 --verify
check 'both directions counted' "$(get client '/results/*/messages') == 3 * 2 * 4 * 200"

echo '== inline'
pair server --client --size 1,64,256 --inline 256 --iterations 500 --verify

echo '== latency, polled in memory and by immediate'
pair server --client --mode lat --size 1,64,4096,16K --iterations 200 --warmup 20 --verify
pair server --client --mode lat --op write-imm --size 0,64 --iterations 200
check 'samples' "$(get client '/results/*/half_round_trip/samples') == 2 * 200"
