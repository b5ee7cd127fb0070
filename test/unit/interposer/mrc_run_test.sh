#!/bin/bash
# mrc-run is transparent: exit status, arguments, pid and an existing LD_PRELOAD are the program's; a
# node file that is missing or wrong is told, with file, line and key, before the program starts.
# Usage: mrc_run_test.sh MRC_RUN NODE_FILE
set -u
mrc_run=$1
node_file=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset SOFTMRC_CONFIG LD_PRELOAD
failures=0

# check NAME STATUS PATTERN COMMAND...: exit status, and a pattern in what it prints
check() {
  local name=$1 status=$2 pattern=$3 output got
  shift 3
  output=$("$@" 2>&1)
  got=$?
  if [ "$got" -ne "$status" ] || ! grep -qE -- "$pattern" <<<"$output"; then
    echo "$name: exit status $got, expected $status; expected '$pattern' in: $output"
    failures=$((failures + 1))
  fi
}

check 'exit status' 42 '' "$mrc_run" sh -c 'exit 42'
check 'arguments' 0 '^--config x -- --help$' "$mrc_run" -- echo --config x -- --help
check 'arguments without --' 0 '^-c x$' "$mrc_run" echo -c x
check 'killed by a signal' 143 '' "$mrc_run" sh -c 'kill -TERM $$'
# shellcheck disable=SC2016  # for the inner shell
check 'becomes the program' 0 '^same$' sh -c \
  'pid=$$; exec "$0" sh -c "[ \$\$ = $pid ] && echo same"' "$mrc_run"
check 'interposer' 0 '(^|:)/[^:]*/libmrc-verbs\.so$' "$mrc_run" printenv LD_PRELOAD
libc=$(ldd "$(command -v sh)" | awk '$1 ~ /^libc\.so/ { print $3 }')
# In a sanitizer build mrc-run itself would object to a library before its runtime.
check 'keeps LD_PRELOAD' 0 "/libmrc-verbs\.so:$libc$" \
  env LD_PRELOAD="$libc" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
  "$mrc_run" printenv LD_PRELOAD
check 'node file' 0 "^$(realpath "$node_file")$" \
  "$mrc_run" --config "$node_file" printenv SOFTMRC_CONFIG
check 'keeps SOFTMRC_CONFIG' 0 '^/elsewhere$' \
  env SOFTMRC_CONFIG=/elsewhere "$mrc_run" printenv SOFTMRC_CONFIG

check 'no such node file' 125 '/absent\.yaml: no such file' "$mrc_run" -c "$work/absent.yaml" true
cp "$node_file" "$work/wrong.yaml"
echo 'no_such_key: 1' >>"$work/wrong.yaml"
check 'wrong node file' 125 "wrong\.yaml:$(wc -l <"$work/wrong.yaml"):.*no_such_key" \
  "$mrc_run" -c "$work/wrong.yaml" true
cp "$node_file" "$work/a:b.yaml"
check 'colon in the path' 125 'colon' "$mrc_run" -c "$work/a:b.yaml" true
check 'no program' 125 'no program' "$mrc_run"
check 'unknown option' 125 'mrc-run --help' "$mrc_run" --no-such-option true
check 'program not found' 127 'No such file' "$mrc_run" "$work/absent"
touch "$work/data"
check 'program not executable' 126 'ermission' "$mrc_run" "$work/data"
check 'help' 0 '^Usage: mrc-run' "$mrc_run" --help
exit $((failures > 0))
