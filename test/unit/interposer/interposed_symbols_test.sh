#!/bin/bash
# Holds what libmrc-verbs.so exports against the libibverbs it stands in front of: each symbol there is
# interposed at the same version, or listed in not_interposed.txt; never both. One that was missed would
# let libibverbs see an object of ours. Nothing else is exported but what the C library has, at its
# versions.
# Usage: interposed_symbols_test.sh LIBMRC_VERBS_SO [LIBIBVERBS_SO]
set -u
ours=$1
behind() { ldd "$ours" | awk -v name="$1" 'index($1, name) == 1 { print $3 }'; }
real=${2:-$(behind libibverbs.so)}
exceptions=$(dirname "$0")/not_interposed.txt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# NAME@VERSION of all versions, default or not. An absolute symbol is a version node.
symbols() {
  ${NM:-nm} -D --defined-only "$1" | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' |
    LC_ALL=C sort -u
}
symbols "$ours" | grep -v '@GLIBC_' >"$work/ours"
symbols "$ours" | grep '@GLIBC_' >"$work/ours_of_libc"
symbols "$real" >"$work/real"
symbols "$(behind libc.so)" >"$work/libc"
mapfile -t patterns < <(grep -v -e '^#' -e '^$' "$exceptions")
[ -s "$work/real" ] || { echo "no symbols in '$real'"; exit 1; }
[ -s "$work/libc" ] || { echo 'no symbols in the C library'; exit 1; }
[ ${#patterns[@]} -gt 0 ] || { echo "no patterns in $exceptions"; exit 1; }

excepted() {
  local pattern
  for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2053  # a pattern is meant
    [[ $1 == $pattern ]] && return 0
  done
  return 1
}

failures=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}
while read -r symbol; do
  if grep -qxF "$symbol" "$work/ours"; then
    ! excepted "$symbol" || complain "interposed, and listed as not: $symbol"
  else
    excepted "$symbol" || complain "not interposed: $symbol"
  fi
done <"$work/real"
while read -r symbol; do
  grep -qxF "$symbol" "$work/real" || complain "libibverbs has no $symbol"
done <"$work/ours"
while read -r symbol; do
  grep -qxF "$symbol" "$work/libc" || complain "the C library has no $symbol"
done <"$work/ours_of_libc"

[ "$failures" -eq 0 ] || exit 1
echo "$(wc -l <"$work/ours") of $(wc -l <"$work/real") symbols interposed, the rest listed"
