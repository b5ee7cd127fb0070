#!/bin/bash
# An unreliable network: 1 % loss, 1 % reordering over 16 packets, 0.1 % corruption, 0.1 %
# duplication. Everything arrives, little is sent twice, and what the transport counted agrees with
# what the fault injector did.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

pair server --client --size 64K --total 256M --verify --seed 7 --fault-side tx \
  --loss 0.01 --reorder 0.01 --reorder-distance 16 --corrupt 0.001 --duplicate 0.001

fault() { get client "/local/faults/data/$1"; }
dropped=$(fault dropped) corrupted=$(fault corrupted) duplicated=$(fault duplicated)
resent=$(get client /local/transport/data_resent)
sent=$(get client /local/transport/data_sent)

check 'first transmissions are the packets of the messages' "$sent == 256 * 1048576 / 4096"
check 'faults were made' "$dropped > 300 && $corrupted > 20 && $duplicated > 20 && $(fault reordered) > 300"
check 'what was lost was sent again' "$resent >= $dropped + $corrupted"
check 'and little else: at most 1.2 times' "10 * $resent <= 12 * ($dropped + $corrupted)"
# A packet can arrive between being declared lost and being sent again.
check 'each resend has a cause' \
  "$resent <= $(get client /local/transport/resent_nack) + $(get client /local/transport/resent_hole) + $(get client /local/transport/resent_timeout) + $(get client /local/transport/resent_early)"

outcome() { get server "/local/outcomes/$1" 2>/dev/null || echo 0; }
check 'every corrupted packet failed its ICRC' \
  "$(outcome drop_icrc) == $corrupted + $(get client /local/faults/control/corrupted)"
check 'every packet was placed once' "$(outcome accepted_data) == $sent"
# A packet is sent, resent or duplicated; it is lost, corrupted, a duplicate or new.
check 'data packets balance' \
  "$sent + $resent + $duplicated == $dropped + $corrupted + $(outcome accepted_duplicate) + $(outcome accepted_data)"
