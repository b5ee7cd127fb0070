# Network namespaces and cables between them, for scripts that build a network of their own; sourced.
# Everything of a run carries its process number and goes when the script ends, however it ends: a
# namespace takes its cables and routes with it once no process is left in it. The folder $log too.
# Exits with 77 where the machine cannot: no root, no iproute2, no namespaces.
# shellcheck shell=bash

cannot() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" -eq 0 ] || cannot 'needs root to make network namespaces'
command -v ip >/dev/null || cannot 'needs iproute2'

run=mrc$$
namespaces=()
log=$(mktemp -d)
cleanup() {
  local status=$? namespace process
  trap - EXIT
  trap '' INT TERM
  for namespace in "${namespaces[@]}"; do
    for process in $(ip netns pids "$namespace"); do kill -KILL "$process" 2>/dev/null || true; done
    ip netns delete "$namespace" || status=1
  done
  rm -rf "$log"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

inside() { local namespace=$run-$1; shift; ip netns exec "$namespace" "$@"; }
# In the background, so that a signal to this script is not kept waiting; $! is the program itself.
start() { local namespace=$run-$1; shift; (exec ip netns exec "$namespace" "$@") & }
set_ip() { local namespace=$run-$1; shift; ip -n "$namespace" "$@"; }

add_namespace() {  # NAME
  ip netns add "$run-$1" 2>"$log/netns" || cannot "no network namespaces: $(cat "$log/netns")"
  namespaces+=("$run-$1")
  set_ip "$1" link set dev lo up
}

cable() {  # NAME PORT NAME PORT MTU
  set_ip "$1" link add name "$2" mtu "$5" type veth peer name "$4" mtu "$5" netns "$run-$3" \
    2>"$log/veth" || cannot "no veth: $(cat "$log/veth")"
  set_ip "$1" link set dev "$2" up
  set_ip "$3" link set dev "$4" up
}
