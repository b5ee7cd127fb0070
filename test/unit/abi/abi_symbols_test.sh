#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares what a libmrc shared library exports with abi_functions.inc: each function there must be
# exported once, as default version of node MRC_1.0, and nothing else may be but what belongs to a
# node with PRIVATE in its name.
# Usage: abi_symbols_test.sh LIBMRC_SO
set -u
library=$1
table=$(dirname "$0")/abi_functions.inc
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

sed -n 's/^FUNCTION[_0-9]*(\([a-z_]*\),.*/T \1@@MRC_1.0/p' "$table" | LC_ALL=C sort >"$work/expected"
if [ "$(wc -l <"$work/expected")" -ne 41 ]; then
  echo "$table: must list 41 functions"
  exit 1
fi

${NM:-nm} -D --defined-only "$library" >"$work/nm" || exit 1
# An absolute symbol that is called like a version node is the node itself.
awk '$2 == "A" && $3 ~ /^[A-Z][A-Z0-9_.]*(@@.*)?$/ { next } $3 ~ /@.*PRIVATE/ { next } { print $2, $3 }' \
  "$work/nm" | LC_ALL=C sort >"$work/found"

if diff "$work/expected" "$work/found" >"$work/diff"; then
  echo '41 functions exported as MRC_1.0, and nothing else'
else
  sed -n -e 's/^</missing:/p' -e 's/^>/must not be exported:/p' "$work/diff"
  exit 1
fi
