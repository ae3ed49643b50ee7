#!/bin/sh
# Fails if clang-format would change a source file. With --fix it changes them.
set -eu
cd "$(dirname "$0")/.."
mode=--dry-run
[ "${1:-}" = --fix ] && mode=-i
find src apps bench tests \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 -n 16 -P 2 clang-format --Werror "$mode"
echo "format: ok"
