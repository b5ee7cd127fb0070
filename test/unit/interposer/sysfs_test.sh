#!/bin/bash
# Our devices in sysfs, as tools that know nothing of us see them: what each file says, how it is listed
# and found; and all that is not ours as without mrc-run, byte for byte. Nothing is left behind but the
# state directory.
# Usage: sysfs_test.sh MRC_RUN NODE_FILE SYSFS_CALLS
set -u
mrc_run=$1
calls=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
node_file=$work/node.yaml
{
  cat "$2"
  echo "state_directory: $work/state"
} >"$node_file"
class=/sys/class/infiniband
failures=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}
ours() { "$mrc_run" --config "$node_file" -- "$@"; }

# says FILE TEXT
says() {
  local text
  text=$(ours cat "$class/mrc-a/$1" 2>&1) || complain "$1: cat fails"
  [ "$text" = "$2" ] || complain "$1: '$text' is not '$2'"
}
says node_type '1: CA'
says node_guid '0000:00ff:fe00:0a01'
says sys_image_guid '0000:00ff:fe00:0a01'
says hca_type softmrc
for port in 1 4; do
  says ports/$port/state '4: ACTIVE'
  says ports/$port/phys_state '5: LinkUp'
  says ports/$port/rate '100 Gb/sec (4X EDR)'
  says ports/$port/link_layer Ethernet
  says ports/$port/lid 0x0
  says ports/$port/gids/3 'fd00:0000:0000:000a:0000:0000:0000:0001'
  says ports/$port/gid_attrs/types/3 'RoCE v2'
  for counter in counters/port_{xmit,rcv}_{data,packets} hw_counters/{sent,rcvd}_pkts; do
    says "ports/$port/$counter" 0
  done
done
[ "$(ours ls $class/mrc-a/ports)" = $'1\n2\n3\n4' ] || complain 'ports'
[ "$(ours ls $class)" = "$(ls $class 2>/dev/null; echo mrc-a)" ] || complain "entries of $class"
ours ls -lR $class >/dev/null 2>"$work/errors" || complain "ls: $(cat "$work/errors")"
ours test -d "$(ours realpath $class/mrc-a/device)" || complain 'the link device leads nowhere'
# shellcheck disable=SC2016  # for the inner shell
ours sh -c 'cd /sys/class/infiniband/mrc-a && read -r state <ports/1/state && [ "$state" = "4: ACTIVE" ]' ||
  complain 'a shell in the folder'
[ "$(find "$work/state" -mindepth 2 -maxdepth 2 | wc -l)" -eq 1 ] || complain 'more than one tree'

# Every file of the others', and what they may not be.
for command in 'ls -lR /sys/class/net' 'cat /proc/version' "ls $class/absent" \
  'readlink /proc/self/cwd' 'realpath /etc/../etc/passwd' 'stat -c %i:%a /etc/passwd'; do
  read -ra words <<<"$command"
  diff <("${words[@]}" 2>&1) <(ours "${words[@]}" 2>&1) || complain "another answer: $command"
done
grep -q '^Name:.cat$' <(ours cat /proc/self/status) || complain '/proc/self/status'
unset SOFTMRC_CONFIG
[ "$(ls $class 2>&1)" = "$("$mrc_run" ls $class 2>&1)" ] || complain "$class without devices"

# Nowhere to put them: said once, and everything else works.
sed -i 's|^state_directory: .*|state_directory: /proc/softmrc|' "$node_file"
output=$(ours ls $class/mrc-a 2>&1) && complain 'files without a place'
grep -q 'no /sys/class/infiniband for devices of ours' <<<"$output" || complain "says: $output"
sed -i "s|^state_directory: .*|state_directory: $work/state|" "$node_file"

ours "$calls" mrc-a || complain "$calls: exit status $?"
exit $((failures > 0))
