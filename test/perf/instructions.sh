#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counts the instructions of an operation by callgrind, and fails if they exceed the ceiling in
# test/perf/instructions, which may only be lowered. Run from the top of a build tree.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
command -v valgrind >/dev/null || { echo "skip: valgrind is not installed"; exit 77; }

# Instructions of the DAT layer, or nothing.
count() { # ADAPTER OP SIZE
	"$here/../../tools/perf/instr.sh" --perf tools/perf/dat_perf --no-raw --op "$2" \
		--size "$3" --ia "$1" 2>&1 | awk '/of these DAT layer/ { print $NF }'
}

# Polls that find nothing count, too, 130 each. There are more of them while the progress thread
# has the queue, because callgrind runs one thread at a time: in about half of the counts over tcp.
# Only the lowest of twenty has to be below the ceiling; on a busy machine, few are.
while read -r adapter op size ceiling; do
	case $adapter in '' | '#'*) continue ;; esac
	for attempt in $(seq 20); do
		layer=$(count "$adapter" "$op" "$size")
		[ -n "$layer" ] && [ "$layer" -gt 0 ] && [ "$layer" -le "$ceiling" ] && break
	done
	[ -n "$layer" ] && [ "$layer" -gt 0 ] && [ "$layer" -le "$ceiling" ]
	verdict "$adapter, $op of $size bytes: ${layer:-no figure}, ceiling $ceiling" $?
done <"$here/instructions"

finish
