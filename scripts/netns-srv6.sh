#!/bin/bash
# mrc-perf across a fabric of Linux kernels: two hosts, two planes, in each plane a T0 per host and two
# T1s between them, all network namespaces; every switch is the kernel's own `seg6local action End
# flavors next-csid`, so that our SRv6 encapsulation is judged by code that is not ours. Then checks
# that every T1 carried its share in both directions. Needs root.
#
#   scripts/netns-srv6.sh [--fabric-only] [MRC-PERF CLIENT OPTION...]
#
# --fabric-only: no MRC; one packet down each path, made by hand, has to arrive.
# Exit: 0 all well, 77 this machine cannot (not root, no namespaces, no seg6local), else failed.
#
# The numbering is that of config/netns-a.yaml and config/netns-b.yaml:
#
#   host A p1 -- T0 1003 --+-- T1 2000 --+-- T0 1041 -- p1 host B      plane 1
#                          +-- T1 2001 --+
#   host A p2 -- T0 1103 --+-- T1 2100 --+-- T0 1141 -- p2 host B      plane 2
#                          +-- T1 2101 --+
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/netns_lib.sh"

block=fcbb:bb00
usid_t0_a=('' 1003 1103)  # by plane, from 1
usid_t0_b=('' 1041 1141)
usid_t1=('' '2000 2001' '2100 2101')
downlink_a=d011
downlink_b=d012
mtu=9000
perf=${MRC_PERF:-$root/build/apps/mrc-perf}

# MAC addresses: hosts 02:00:00:00:0H:0P, the T0 port that faces them 02:00:00:00:1H:0P.
mac_host() { echo "02:00:00:00:0$1:0$2"; }
mac_gateway() { echo "02:00:00:00:1$1:0$2"; }

add_ipv6_namespace() {  # NAME FORWARDING
  add_namespace "$1"
  inside "$1" sysctl -qw net.ipv6.conf.all.forwarding="$2" net.ipv6.conf.default.forwarding="$2" \
    net.ipv6.conf.{all,default}.seg6_enabled=1 net.ipv6.conf.default.addr_gen_mode=1 \
    2>"$log/sysctl" || cannot "no IPv6 forwarding here: $(cat "$log/sysctl")"
}

own_usid() {  # SWITCH USID PORT: shift it out and look the rest up. Any port but lo will do: it is no exit.
  set_ip "$1" -6 route add "$block:$2::/48" encap seg6local action End flavors next-csid \
    lblen 32 nflen 16 dev "$3" 2>"$log/seg6" || cannot "no seg6local next-csid: $(cat "$log/seg6")"
}

next_hop() {  # SWITCH USID PORT NAME PORT: packets for USID leave by PORT to the neighbour's PORT
  local mac
  mac=$(inside "$4" cat "/sys/class/net/$5/address")
  set_ip "$1" -6 neighbour replace fe80::1 lladdr "$mac" nud permanent dev "$3"
  set_ip "$1" -6 route add "$block:$2::/48" via fe80::1 dev "$3"
}

host_cable() {  # HOST H PLANE T0 DOWNLINK: fixed MACs, and a kernel that stays silent on the port
  cable "$1" "p$3" "$4" host $mtu
  set_ip "$1" link set dev "p$3" address "$(mac_host "$2" "$3")"
  set_ip "$4" link set dev host address "$(mac_gateway "$2" "$3")"
  inside "$1" sysctl -qw "net.ipv6.conf.p$3.disable_ipv6=1"
  next_hop "$4" "$5" host "$1" "p$3"
}

build_plane() {
  local plane=$1 a=t0a$1 b=t0b$1 number=0 usid name
  add_ipv6_namespace "$a" 1
  add_ipv6_namespace "$b" 1
  host_cable hosta a "$plane" "$a" "$downlink_a"
  host_cable hostb b "$plane" "$b" "$downlink_b"
  own_usid "$a" "${usid_t0_a[$plane]}" host
  own_usid "$b" "${usid_t0_b[$plane]}" host
  for usid in ${usid_t1[$plane]}; do
    name=t1-$plane-$number
    number=$((number + 1))
    add_ipv6_namespace "$name" 1
    cable "$a" "up$number" "$name" to_a $mtu
    cable "$b" "up$number" "$name" to_b $mtu
    own_usid "$name" "$usid" to_a
    next_hop "$a" "$usid" "up$number" "$name" to_a
    next_hop "$b" "$usid" "up$number" "$name" to_b
    next_hop "$name" "${usid_t0_a[$plane]}" to_a "$a" "up$number"
    next_hop "$name" "${usid_t0_b[$plane]}" to_b "$b" "up$number"
  done
}

counter() { inside "$1" cat "/sys/class/net/$2/statistics/rx_packets"; }

# By hand, one packet down each path in both directions: outer destination, what must be left of it.
check_fabric() {
  local plane usid
  for plane in 1 2; do
    for usid in ${usid_t1[$plane]}; do
      one_packet hosta hostb "$plane" a \
        "$block:${usid_t0_a[$plane]}:$usid:${usid_t0_b[$plane]}:$downlink_b::" "$block:$downlink_b::"
      one_packet hostb hosta "$plane" b \
        "$block:${usid_t0_b[$plane]}:$usid:${usid_t0_a[$plane]}:$downlink_a::" "$block:$downlink_a::"
    done
  done
}

one_packet() {  # FROM TO PLANE H DESTINATION LEFT
  local receiver
  start "$2" python3 "$root/scripts/netns_packet.py" receive "p$3" "$6" "$log/ready"
  receiver=$!
  for _ in $(seq 600); do [ -e "$log/ready" ] && break; sleep 0.05; done
  inside "$1" python3 "$root/scripts/netns_packet.py" send "p$3" "$(mac_gateway "$4" "$3")" "$5"
  wait "$receiver" || die "plane $3: nothing came from $1 to $2 for $5"
  rm -f "$log/ready"
  echo "plane $3: $1 -> $2 through $5 arrived as $6"
}

# Every T1 must have carried at least half of an equal share, in both directions.
check_spread() {
  local plane number port total count worst=0
  printf '%-10s %14s %14s\n' T1 'from A' 'from B'
  for port in to_a to_b; do
    total=0
    for plane in 1 2; do for number in 0 1; do
      total=$((total + $(counter "t1-$plane-$number" $port) - before[$plane$number$port]))
    done; done
    for plane in 1 2; do for number in 0 1; do
      count=$(($(counter "t1-$plane-$number" $port) - before[$plane$number$port]))
      carried[$plane$number$port]=$count
      [ $count -gt 0 ] && [ $((count * 8)) -ge "$total" ] || worst=1
    done; done
  done
  for plane in 1 2; do for number in 0 1; do
    set -- ${usid_t1[$plane]}
    shift "$number"
    printf '%-10s %14d %14d\n' "$1" "${carried[$plane${number}to_a]}" "${carried[$plane${number}to_b]}"
  done; done
  [ $worst -eq 0 ] || die 'a T1 carried less than half of its share'
}

add_ipv6_namespace hosta 0
add_ipv6_namespace hostb 0
build_plane 1
build_plane 2
# Out of band, for what the two programs agree on before they send.
cable hosta mgmt hostb mgmt $mtu
set_ip hosta address add 192.0.2.1/30 dev mgmt
set_ip hostb address add 192.0.2.2/30 dev mgmt

check_fabric
[ "${1:-}" != --fabric-only ] || exit 0

[ -x "$perf" ] || die "$perf is not built"
[ $# -gt 0 ] || set -- --size 64K --total 64M
declare -A before carried
for plane in 1 2; do for number in 0 1; do for port in to_a to_b; do
  before[$plane$number$port]=$(counter "t1-$plane-$number" $port)
done; done; done

echo "mrc-perf $*"
start hostb timeout 300 "$perf" server --config "$root/config/netns-b.yaml" >"$log/server" 2>&1
server=$!
start hosta timeout 300 "$perf" client 192.0.2.2 --config "$root/config/netns-a.yaml" --verify "$@"
client=$!
status=0
wait "$client" || status=$?
[ $status -eq 0 ] || kill "$server" 2>/dev/null || true
wait "$server" || status=$?
if [ $status -ne 0 ]; then
  sed 's/^/server: /' "$log/server"
  die "mrc-perf failed with status $status"
fi
check_spread
