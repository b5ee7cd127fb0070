# Two hosts, namespaces a and b, joined by a veth cable per plane, and node files for af_packet ports on
# them: $log/a.yaml and $log/b.yaml. Sourced; needs root (exits with 77 without). Expects CONFIG in the
# environment.
# shellcheck shell=bash

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/netns_lib.sh"
mtu=9000
host_a=192.0.2.1 host_b=192.0.2.2  # out of band, for what programs tell each other

# make_pair PLANES [CABLE]: CABLE PLANE joins a's and b's interfaces pPLANE.
make_pair() {
  local plane side
  add_namespace a
  add_namespace b
  for ((plane = 1; plane <= $1; ++plane)); do
    "${2:-plain_cable}" $plane
    for side in a b; do
      set_ip $side link set dev p$plane address 02:00:00:00:0$side:0$plane
      inside $side sysctl -qw net.ipv6.conf.p$plane.disable_ipv6=1  # a kernel that stays silent
    done
  done
  cable a mgmt b mgmt $mtu
  set_ip a address add $host_a/30 dev mgmt
  set_ip b address add $host_b/30 dev mgmt
  # The two ends of config/memif-*.yaml, on other ports.
  local port='net_af_packet{port},iface=p{port},blocksz=36864,framesz=9216,framecnt=1024'
  for side in a b; do
    sed -e "s/^  device: .*/  device: \"$port\"/" -e "s/^planes: .*/planes: $1/" \
      "$CONFIG/memif-$side.yaml" >"$log/$side.yaml"
  done
}

plain_cable() { cable a "p$1" b "p$1" $mtu; }
