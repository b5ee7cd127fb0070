#!/bin/bash
# Every C and C++ file of the tree is formatted by .clang-format, with the version the project fixed.
# Tables (.inc) keep the columns they are written in.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files -z '*.h' '*.c' '*.cc' | xargs -0 -r clang-format-14 --dry-run -Werror
