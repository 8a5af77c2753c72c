#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counts the instructions of an operation by callgrind, and fails if they exceed the ceiling in
# test/perf/instructions, which may only be lowered. Run from the top of a build tree.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
command -v valgrind >/dev/null || { echo "skip: valgrind is not installed"; exit 77; }

while read -r adapter op size ceiling; do
	case $adapter in '' | '#'*) continue ;; esac
	"$here/../../tools/perf/instr.sh" --perf tools/perf/dat_perf --no-raw --op "$op" \
		--size "$size" --ia "$adapter" >"$dir/out" 2>&1
	layer=$(awk '/of these DAT layer/ { print $NF }' "$dir/out")
	[ -n "$layer" ] && [ "$layer" -gt 0 ] && [ "$layer" -le "$ceiling" ]
	verdict "$adapter, $op of $size bytes: ${layer:-no figure}, ceiling $ceiling" $?
done <"$here/instructions"

finish
