#!/bin/bash
# Paths that fail: a plane that loses everything for a while, and one EV of 64 that loses a fifth of
# its packets. What fails is left at once and taken again when it works; nothing is lost.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

echo '== plane 2 black-holed from 0.5 s to 1.5 s of 4 s'
pair server --client --size 64K --seconds 4 --seed 3 --blackhole 2@0.5s+1s
evs() { get client "/local/evs/$1" "${@:2}"; }
check 'the plane was closed and opened again' \
  "$(get client /local/faults/data/dropped) > 0 && $(get client '/local/faults/blackholes/*/closed_seconds' null) == 0"
check 'its active EVs went bad' "$(evs plane=2/went_bad) >= 32"
check 'they came back' "$(evs plane=2/came_back) >= 32"
check 'most are good at the end' "$(evs plane=2/state ASSUMED_BAD) < 32"
check 'traffic never stopped for long' "$(get client /results/0/longest_pause_us | cut -d. -f1) < 300000"
sent=$(get client /local/transport/data_sent)
check 'nothing was lost' "$(get server /local/outcomes/accepted_data) == $sent"
plane2=$(evs plane=2/sent) plane1=$(evs plane=1/sent)
check 'the other planes carried its share meanwhile, and it had its own before and after' \
  "$plane2 < $plane1 && 4 * $plane2 > $plane1"

echo '== the same, verified'
pair server --client --size 64K --seconds 3 --verify --seed 3 --blackhole 3@0.2s+0.5s

echo '== one EV of 64 loses 20 %'
sed 's/uplinks: 64/uplinks: 16/' "$client_config" >"$run/client.yaml"
printf 'ev:\n  count: 64\n  active: 64\n' >>"$run/client.yaml"
client_config=$run/client.yaml
pair server --client --size 64K --total 1G --verify --seed 5 --loss-ev 2/5:0.2 --fault-side tx
check '64 EVs' "$(evs '*/plane' 2) == 16 && $(evs '*/qps' 1) == 64"
dropped=$(get client /local/faults/data/dropped)
bad_ev=$(printf '0x%08x' "$(get client /local/faults/rules/0/ev)")
times_bad=$(evs "ev=$bad_ev/went_bad")
check 'it was taken out of rotation' "$times_bad >= 1"
check 'each time within its first losses' "$dropped <= 4 * $times_bad"
check 'no other EV was blamed for long' "$(evs '*/went_bad') - $times_bad <= 4"
even=$(($(get client /local/transport/data_sent) / 64))
check 'it carried much less than an even share' "4 * $(evs "ev=$bad_ev/sent") < $even"
