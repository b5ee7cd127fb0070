#!/bin/bash
# test/integration/peer_death_test.sh between two network namespaces, over af_packet ports on two veth
# cables. Needs root (skipped without). Expects CONFIG, MRC_RUN and PEER_DEATH in the environment.
set -euo pipefail
. "$(dirname "$0")/../../scripts/netns_lib.sh"
mtu=9000

add_namespace a
add_namespace b
for plane in 1 2; do
  cable a p$plane b p$plane $mtu
  for side in a b; do
    set_ip $side link set dev p$plane address 02:00:00:00:0$side:0$plane
    inside $side sysctl -qw net.ipv6.conf.p$plane.disable_ipv6=1  # a kernel that stays silent
  done
done
# Out of band, for what the two programs tell each other.
cable a mgmt b mgmt $mtu
set_ip a address add 192.0.2.1/30 dev mgmt
set_ip b address add 192.0.2.2/30 dev mgmt

# The two ends of config/memif-*.yaml, on other ports.
port='net_af_packet{port},iface=p{port},blocksz=36864,framesz=9216,framecnt=1024'
for side in a b; do
  sed -e "s/^  device: .*/  device: \"$port\"/" -e 's/^planes: .*/planes: 2/' \
    "$CONFIG/memif-$side.yaml" >"$log/$side.yaml"
done

NODE_A=$log/a.yaml NODE_B=$log/b.yaml HOST_A=192.0.2.1 HOST_B=192.0.2.2 \
  INSIDE_A=$run-a INSIDE_B=$run-b "$(dirname "$0")/../integration/peer_death_test.sh" &
wait $!
