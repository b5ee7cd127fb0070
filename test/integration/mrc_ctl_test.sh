#!/bin/bash
# mrc-ctl on a device that nobody else has open: profiles of a file are made once, changes are told,
# mistakes name what is wrong, and everything is there again for the next mrc-ctl.
# Usage: mrc_ctl_test.sh MRC_CTL CONFIG_DIRECTORY
set -euo pipefail

run=$(mktemp -d "${TMPDIR:-/tmp}/mrc-ctl-test.XXXXXX")
trap 'rm -rf "$run"' EXIT
export XDG_RUNTIME_DIR=$run
profiles=$2/profiles/memif-a.yaml
ctl() { "$mrc_ctl" -c "$config/memif-a.yaml" "$@"; }
mrc_ctl=$1
config=$2

fail() { echo "FAILED: $*" >&2; exit 1; }
has() {  # FILE TEXT
  grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "no \"$2\" in the output"; }
}
refused() {  # TEXT COMMAND...
  local text=$1
  shift
  if "$@" >"$run/out" 2>&1; then fail "$* succeeded"; fi
  has "$run/out" "$text"
}

ctl show >"$run/out" 2>&1 || { grep -q CAP_NET_ADMIN "$run/out" && exit 77; cat "$run/out" >&2; exit 1; }

ctl apply "$profiles" >"$run/out"
[ "$(grep -c ': made$' "$run/out")" -eq 9 ] || fail 'not all profiles were made'
ctl apply "$profiles" >"$run/out"
[ "$(grep -c ': unchanged$' "$run/out")" -eq 9 ] || fail 'applying again changed something'

ev=1/fcbb:bb00:1003:2000:1041:d012::
ctl deny 1 "$ev" >/dev/null
ctl show >"$run/out"
grep -qE "^ +$ev +DENIED" "$run/out" || fail "$ev is not DENIED"
ctl allow 1 "$ev" >/dev/null
ctl show --json >"$run/out"
python3 - "$run/out" <<'PY' || fail 'show --json'
import json, sys
state = json.load(open(sys.argv[1]))
assert [p["admin"] for p in state["ports"]] == ["up"] * 4
assert [p["state"] for p in state["ev_profiles"]] == ["ONLINE"] * 3
assert [e["state"] for e in state["ev_profiles"][0]["evs"]] == ["UNKNOWN"] * 4  # no QP uses it
assert len(state["ev_profiles"][1]["evs"]) == 256
assert [c["algorithm"] for c in state["cc_profiles"]] == ["uet-1.0-nscc"] * 2 + ["none"]
PY

ctl ports down 2 3 >/dev/null
ctl show >"$run/out"
[ "$(grep -c 'admin down' "$run/out")" -eq 2 ] || fail 'ports are not down'
ctl ports up 2 3 >/dev/null

sed 's/2101/2105/; s/9000/8000/; s/0x007f/0x00ff/' "$profiles" >"$run/changed.yaml"
ctl apply "$run/changed.yaml" >"$run/out"
has "$run/out" 'EV profile 1: 1 EVs replaced'
has "$run/out" 'EV profile 3: changed'
has "$run/out" 'CC profile 2: changed'
has "$run/out" 'EV profile 2: unchanged'

refused 'the profile has no such EV' ctl deny 1 1/fcbb::
refused 'is no EV' ctl deny 1 fcbb
refused "no process has the device's ports open" ctl probe fd00:0:0:b::1 "$ev"
sed 's/min_active: 32/min_aktive: 32/' "$profiles" >"$run/wrong.yaml"
refused "$run/wrong.yaml:" ctl apply "$run/wrong.yaml"
sed 's/count: 256/count: 257/' "$profiles" >"$run/wrong.yaml"
refused 'EV profile 2: Invalid argument' ctl apply "$run/wrong.yaml"
echo ok
