#!/bin/bash
# mrc-pmd as its users run it: two processes over memif in each mode, a loopback of three endpoints, a
# session at the prompt, and mistakes. Both the screen and the JSON file are looked at.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

limit=60  # status 124 if it hangs

input=/dev/null
# pmd NAME ARGUMENT...: in the background; its process in $started, its input from $input, its
# output in $run/NAME.out.
pmd() {
  local name=$1
  shift
  timeout --kill-after=5 "$limit" "$PMD" "$@" --json "$run/$name.json" \
    <"$input" >"$run/$name.out" 2>&1 &
  started=$!
  processes+=("$started")
}
# two LISTENER'S OPTIONS -- CONNECTOR'S OPTIONS: both ends of a memif link, and both have to succeed.
two() {
  local -a a=() b=()
  local listener connector
  while [ "$1" != -- ]; do a+=("$1"); shift; done
  shift
  b=("$@")
  tcp_port=$((tcp_port + 1))
  pmd a -- --config "$CONFIG/memif-a.yaml" --tcp-port $tcp_port "${a[@]}"; listener=$started
  pmd b -- --config "$CONFIG/memif-b.yaml" --tcp-port $tcp_port --peer 127.0.0.1 "${b[@]}"
  connector=$started
  wait "$connector" || fail "the connecting end: status $?"
  wait "$listener" || fail "the listening end: status $?"
  processes=()
  [ "$(get a /status)" = ok ] && [ "$(get b /status)" = ok ] || fail 'a JSON file reports a failure'
  grep -q '^PASS' "$run/a.out" && grep -q '^PASS' "$run/b.out" || fail 'no PASS'
}
shows() {  # NAME TEXT
  grep -aqF -- "$2" "$run/$1.out" || fail "$1 does not show \"$2\""
  echo "ok: $1 shows \"$2\""
}
whole() { printf '%.0f' "$1"; }

echo '== txonly to rxonly, several sizes, every byte compared'
two --mode rxonly -- --mode txonly --sizes 64,4K,1M --duration 0.4 --qps 2 --verify --stats-period 0.2
[ "$(get b /results/2/size)" = 1048576 ] || fail 'not one result per size'
for i in 0 1 2; do
  check "messages of size $i" "$(get b /results/$i/messages) > 0"
  [ "$(get b /results/$i/verified)" = true ] || fail 'not verified'
  l1=$(whole "$(get b /results/$i/tx_l1_bps)") l2=$(whole "$(get b /results/$i/tx_l2_bps)")
  check 'L1 above L2 above goodput' "$l1 > $l2 && $l2 > $(whole "$(get b /results/$i/goodput_bps)")"
done
shows b 'every byte received as sent'
shows b '######################## NIC statistics for port 4  ########################'
shows b 'Tx-bps (L1):'
shows b 'QP groups (since last show)'
check 'the receiver placed what was sent' \
  "$(get a /hosts/0/transport/payload_bytes_received) >= $(get b /groups/0/bytes)"
check 'causes that did not occur are in the file, too' "$(get b /hosts/0/drops/drop_icrc) == 0"
check 'and those of a port' "$(get b /hosts/0/ports/0/drops/imissed) == 0"

echo '== pingpong; the listener takes its mode from the peer; EAL arguments'
tcp_port=$((tcp_port + 1))
pmd a -l 0 -n 4 -- --config "$CONFIG/memif-a.yaml" --tcp-port $tcp_port --stats-period 0
listener=$started
pmd b -- --config "$CONFIG/memif-b.yaml" --tcp-port $tcp_port --peer 127.0.0.1 --mode pingpong \
  --sizes 8,64K --duration 0.3 --stats-period 0
wait "$started" || fail "the pinging end: status $?"
wait "$listener" || fail "the answering end: status $?"
processes=()
[ "$(get a /mode)" = pingpong ] || fail 'the listener is in another mode'
check 'round trips' "$(get b /results/0/messages) > 10"
check 'samples' "$(get b /results/1/half_round_trip/samples) == $(get b /results/1/messages)"

echo '== bidir, limited: 400 Mb/s are 15 MB in 0.3 s, give or take a bucket'
two --mode bidir --duration 0.3 --sizes 16K --rate 400M --verify --stats-period 0 -- \
  --mode bidir --duration 0.3 --sizes 16K --rate 400M --verify --stats-period 0
for end in a b; do
  check "$end sent no more than its rate" "$(get $end /results/0/bytes) < 16000000"
  check "$end sent" "$(get $end /results/0/bytes) > 0"
done

echo '== few planes, few EVs'
two --stats-period 0 -- --mode txonly --duration 0.3 --planes 1,3 --evs 8 --stats-period 0
check 'nothing goes out on plane 2' "$(get b /hosts/0/ports/1/tx_packets) * 100 < \
  $(get b /hosts/0/ports/0/tx_packets)"
[ "$(get b /hosts/0/ports/1/up)" = false ] || fail 'plane 2 is up'
! get b /hosts/0/evs/8/ev >/dev/null 2>&1 || fail 'more than 8 EVs'

echo '== allpairs, three endpoints in one process'
pmd loop --loopback 3 --mode allpairs --sizes 64,64K --duration 0.3 --qps 2 --verify --stats-period 0
wait "$started" || fail "status $?"
processes=()
for i in 0 1 2 3 4 5; do check "pair $i" "$(get loop /groups/$i/messages) > 0"; done
check 'through the switches' "$(get loop /loopback_switches/forwarded) > 0"
check 'to somebody' "$(get loop /loopback_switches/no_destination) == 0"
shows loop 'every byte received as sent'

echo '== at the prompt'
input=$run/commands
mkfifo "$input"
exec 7<>"$input"  # both directions: neither end waits for the other to open it
pmd session -- --loopback 2 --mode txonly -i --sizes 4K
session=$started
say() {
  local i
  echo "$1" >&7
  for ((i = 0; i < 200; ++i)); do
    ! grep -aqF -- "$2" "$run/session.out" || { echo "ok: $1"; return 0; }
    sleep 0.05
  done
  fail "\"$1\" is not followed by \"$2\""
}
say 'show config' 'mode txonly, message size 4096, burst 32, rate off, until stopped'
say 'start' 'Goodput[Gb/s]'
sleep 0.3
say 'start' 'sending already'
say 'show port stats 1' 'NIC statistics for port 1'
say 'show port stats all' 'drop_icrc 0'
say 'show port info 2' 'RX burst function:'
say 'show port xstats 1' 'rx_good_packets'
say 'show qp' 'in flight'
say 'show ev' 'packets sent'
qpn=$(grep -aoE 'pmd1 +0x[0-9a-f]{6}' "$run/session.out" | awk 'NR == 1 { print $2 }')
say "show ev $qpn" "pmd1, QP $qpn"
say 'show qp 0xffffff' 'no QP 0xffffff here'
say 'frobnicate' 'unknown command "frobnicate"'
say 'set burst 100' '"100" does not fit: set burst N'
say 'set rate 1G' 'mrc-pmd> set rate 1G'
say 'set size 8K' 'from the next start on'
say 'port down 4' 'mrc-pmd> port down 4'
say 'port down 9' 'there is no port 9'
say 'stop' ' 4096 '
say 'stop' 'nothing is being sent'
say 'set size 1G' 'the memory agreed with the peers'
say 'set size 64,128' 'mrc-pmd> set size 64,128'
say 'start' 'several message sizes need a duration'
say 'set size 8K' 'mrc-pmd> set size 8K'
say 'set mode bidir' 'mrc-pmd> set mode bidir'
say 'set duration 0.2' 'mrc-pmd> set duration 0.2'
say 'set period 0.1' 'mrc-pmd> set period 0.1'
say 'start' ' 8192 '
say 'clear port stats' 'mrc-pmd> clear port stats'
say 'help' 'end sending, and print what came out'
say 'quit' 'PASS'
exec 7>&-
wait "$session" || fail "status $?"
processes=()
[ "$(get session /results/0/size)" = 4096 ] && [ "$(get session /results/1/size)" = 8192 ] ||
  fail 'not a result per start'
[ "$(get session /results/1/mode)" = bidir ] || fail 'set mode had no effect'
[ "$(get session /hosts/0/ports/3/up)" = false ] || fail 'port 4 is not down'

echo '== the end of input and Ctrl-C end in order'
input=$run/start
echo start >"$input"
pmd session -- --loopback 2 -i
wait "$started" || fail "end of input: status $?"
input=/dev/null
pmd session -- --loopback 2 --stats-period 0.2
sleep 1.5
kill -INT -- "-$started"
wait "$started" || fail "Ctrl-C: status $?"
processes=()
shows session PASS
check 'what was sent by then' "$(get session /results/0/messages) > 0"

echo '== a line rate that no one can have kept to is called so'
sed 's/rate_mbps: .*/rate_mbps: 10/' "$CONFIG/memif-b.yaml" >"$run/slow.yaml"
tcp_port=$((tcp_port + 1))
pmd a -- --config "$CONFIG/memif-a.yaml" --tcp-port $tcp_port --stats-period 0; listener=$started
pmd b -- --config "$run/slow.yaml" --tcp-port $tcp_port --peer 127.0.0.1 --duration 0.3 --stats-period 0
wait "$started" || fail "status $?"
wait "$listener" || fail "status $?"
processes=()
[ "$(get b /results/0/above_line_rate)" = true ] || fail 'not flagged in the JSON file'
shows b 'is ABOVE the line rate of 0.01 Gb/s'
shows b 'results ABOVE the line rate'

echo '== mistakes'
refused() {  # TEXT ARGUMENT...
  local text=$1 status=0
  shift
  timeout "$limit" "$PMD" "$@" >"$run/refused.out" 2>&1 || status=$?
  [ $status -ne 0 ] && [ $status -ne 124 ] || fail "$*: status $status"
  shows refused "$text"
}
refused 'not expected: --bogus' --bogus
refused 'File does not exist' --config /nonexistent.yaml
refused 'several message sizes need a duration' --loopback 2 --sizes 64,4K
refused 'no server at 127.0.0.1' --peer 127.0.0.1:1 --connect-timeout 0.2
refused 'at least one per plane' --loopback 2 --evs 3
refused 'has 4 planes' --loopback 2 --planes 5
refused 'DPDK does not start' --no-such-eal-argument -- --loopback 2
tcp_port=$((tcp_port + 1))
pmd a -- --config "$CONFIG/memif-a.yaml" --tcp-port $tcp_port --mode rxonly; listener=$started
pmd b -- --config "$CONFIG/memif-b.yaml" --tcp-port $tcp_port --peer 127.0.0.1 --mode bidir
! wait "$started" || fail 'modes that do not fit are accepted'
! wait "$listener" || fail 'modes that do not fit are accepted by the listener'
processes=()
shows b 'they do not fit'  # its own words, or the listener's
[ "$(get a /status)" = error ] || fail 'the JSON file does not report the failure'
