#!/bin/bash
# Goodput of a degraded network, beside that of a whole one in the same run. Four planes of 1 Gb/s each, far
# below what the processors move, so that the links decide: 1 % loss leaves 95 %; one plane of four that is
# black-holed from the start leaves 74 %, and the other three carry the same.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

planes=(--plane-rate-mbps 1000 --fault-side tx)
goodput() {  # NAME OPTION...: in Mb/s, into $mbps
  echo "== $1"
  pair server --client --size 64K --seconds 3 --seed 5 "${planes[@]}" "${@:2}"
  mbps=$(awk -v gbps="$(get client /results/0/bw_average_gbps)" 'BEGIN { printf "%d", gbps * 1000 }')
}

goodput 'whole'
whole=$mbps
check 'four planes carry what headers leave of 4 Gb/s' "$whole > 3600 && $whole < 4000"

goodput '1 % loss' --loss 0.01
check '1 % loss leaves 95 %' "100 * $mbps >= 95 * $whole"

goodput 'plane 2 black-holed' --blackhole 2@0s+1000s
check 'three planes of four leave 74 %' "100 * $mbps >= 74 * $whole"
sent() { get client "/local/planes/$1/tx_packets"; }
first=$(sent 0) third=$(sent 2) fourth=$(sent 3)
check 'the others carry the same, within 2 %' \
  "100 * $third >= 98 * $first && 100 * $third <= 102 * $first &&
   100 * $fourth >= 98 * $first && 100 * $fourth <= 102 * $first"
