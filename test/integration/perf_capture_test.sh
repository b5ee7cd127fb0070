#!/bin/bash
# What --pcap records, as tshark (which knows nothing of us) reads it: opcodes, PSNs and QPNs of the
# packets on the wire are those the ends agreed on, and as many as were counted.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"
command -v tshark >/dev/null || { echo 'skipped: no tshark'; exit 77; }

messages=20
pair server --client --size 4097 --iterations $messages --verify --pcap "$run/client.pcapng"

# BTH opcode, PSN, destination QPN, plane; numbers as decimals.
tshark -r "$run/client.pcapng" -Y infiniband.bth -T fields -e infiniband.bth.opcode \
  -e infiniband.bth.psn -e infiniband.bth.destqp -e frame.interface_id 2>"$run/tshark.out" |
  while read -r opcode psn qpn plane; do echo "$((opcode)) $((psn)) $((qpn)) $plane"; done >"$run/packets"

first_psn=$(get client /local/qps/0/first_psn)
peer_qpn=$(get client /local/qps/0/peer_qpn)
own_qpn=$(get client /local/qps/0/qpn)

# Two packets per message, First and Last (0xC6, 0xC8), PSNs in a row; a resend may repeat one.
expected=$run/expected
for ((i = 0; i < messages * 2; ++i)); do
  echo "$((i % 2 == 0 ? 0xC6 : 0xC8)) $(((first_psn + i) & 0xFFFFFF)) $peer_qpn"
done | sort >"$expected"
grep -E '^(198|200) ' "$run/packets" | cut -d' ' -f1-3 | sort -u >"$run/data"
diff "$expected" "$run/data" || fail 'data packets on the wire differ from what was sent'

# On each plane first transmissions leave in PSN order.
awk '$1 == 198 || $1 == 200 {
  if (!($2 in seen) && ($4 in last) && ($2 - last[$4] + 16777216) % 16777216 >= 8388608) exit 1
  seen[$2] = 1
  last[$4] = $2
}' "$run/packets" || fail 'packets did not leave in PSN order'

sent=$(grep -cE '^(198|200) ' "$run/packets")
check 'data packets captured as counted' \
  "$sent == $(get client /local/transport/data_sent) + $(get client /local/transport/data_resent)"

# What came back: SACK (0xDC) and ACK (0xD1) only, to our QPN; and, to QPN 2, the server's probes of
# reverse paths (0xD8) with our answers (0xD9).
awk -v own="$own_qpn" -v peer="$peer_qpn" '
  $1 == 198 || $1 == 200 { next }
  $1 == 222 && $3 == peer { next }  # our own reliability probes
  ($1 == 216 || $1 == 217) && $3 == 2 { next }
  ($1 == 220 || $1 == 209) && $3 == own { back[$1]++; next }
  { print "unexpected packet: " $0; bad = 1 }
  END { exit bad || !back[220] || !back[209] }' "$run/packets" || fail 'acknowledgements'
check 'SACKs captured as counted' \
  "$(grep -c '^220 ' "$run/packets") == $(get server /local/transport/sacks_sent)"
