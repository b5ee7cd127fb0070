#!/bin/bash
# Stock ib_write_bw under mrc-run while one plane of four swallows everything for a second: figures on
# both sides, exit status 0, and the other planes carry on meanwhile. The black hole is the kernel's: a
# bridge in the middle of plane 2 that one end is taken out of, so that no port sees its link go.
# Needs root (skipped without). Expects CONFIG and MRC_RUN in the environment.
set -euo pipefail
command -v ib_write_bw >/dev/null || { echo 'skipped: perftest is not installed'; exit 77; }
. "$(dirname "$0")/netns_pair.sh"

hole_plane=2
cable_with_hole() {  # PLANE
  [ "$1" -eq $hole_plane ] || { plain_cable "$1"; return; }
  cable a "p$1" middle to_a $mtu
  cable b "p$1" middle to_b $mtu
  set_ip middle link set dev to_a master bridge
  set_ip middle link set dev to_b master bridge
}
add_namespace middle
inside middle sysctl -qw net.ipv6.conf.default.disable_ipv6=1  # a kernel that stays silent
set_ip middle link add name bridge mtu $mtu type bridge 2>"$log/bridge" ||
  cannot "no bridge: $(cat "$log/bridge")"
set_ip middle link set dev bridge up
make_pair 4 cable_with_hole

fail() { cat "$log/server" "$log/client"; echo "FAILED: $*" >&2; exit 1; }
received() { inside b cat "/sys/class/net/p$1/statistics/rx_packets"; }
grows() {  # PLANE SECONDS WHEN: within so many seconds
  local before i
  before=$(received "$1")
  for ((i = 0; i < 10 * $2; ++i)); do
    sleep 0.1
    [ "$(received "$1")" -le $((before + 100)) ] || return 0
  done
  fail "plane $1 carries nothing $3"
}

serve=(timeout --kill-after=5 60 "$MRC_RUN" --config)
start b "${serve[@]}" "$log/b.yaml" -- ib_write_bw -D 5 >"$log/server" 2>&1
server=$!
for ((i = 0; i < 100; ++i)); do
  ! inside b grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6 || break  # perftest's port 18515
  sleep 0.1
done
start a "${serve[@]}" "$log/a.yaml" -- ib_write_bw -D 5 $host_b >"$log/client" 2>&1
client=$!

grows $hole_plane 5 'before the black hole'  # starting may take long on a busy machine
set_ip middle link set dev to_b nomaster
sleep 0.2  # what was on its way
in_hole=$(received $hole_plane) others=$(received 1)
sleep 0.8
[ "$(received $hole_plane)" -eq "$in_hole" ] || fail 'the black hole lets packets through'
[ "$(received 1)" -gt $((others + 1000)) ] || fail 'the other planes do not carry on'
set_ip middle link set dev to_b master bridge
grows $hole_plane 2 'after the black hole'

wait $client || fail "the client ends with $?"
wait $server || fail "the server ends with $?"
for end in client server; do
  figures=$(grep -E '^ *65536 +[1-9][0-9]* ' "$log/$end") || fail "the $end prints no figures"
  echo "ok: $end: $figures"
done
