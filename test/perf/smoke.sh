#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does dat_perf measure every pattern, report it in full, and end when something is wrong?
# Run from the top of a build tree.
set -u

here=$(dirname "$0")
. "$here/lib.sh"

measures 'raw alone, all patterns' 9 raw --raw-only --op send,write,read --test all \
	--size 1,64,65536
measures 'DAT alone' 1 dat --op send
for op in send write read; do
	measures "DAT and raw, $op, polling" 3 'dat raw' --raw --op $op --size 1,64,1M
done
measures 'DAT and raw, all tests' 1 'dat raw' --raw --op send --test all
measures 'DAT and raw, waiting' 2 'dat raw' --raw --op send,read --mode wait
measures 'one queue for both directions' 3 'dat raw' --raw --op send,write,read --cq merged
measures 'one queue, waiting' 2 'dat raw' --raw --op send,read --cq merged --mode wait
measures 'the bare queue too' 2 'dat raw queue' --raw --queue --op send --size 1,112 --test all
measures 'the bare queue, validated' 1 'dat queue' --queue --op send --validate --eps 3
measures 'bursts with FI_MORE' 3 'dat raw' --raw --op send,write,read --raw-more
measures 'writes with FI_DELIVERY_COMPLETE' 1 'dat raw' --raw --op write --raw-delivery

quick --raw --op send,write,read --test all && [ "$(grep -c '^  tcp ' "$dir/out")" = 12 ]
verdict 'a table with a line for each measurement' $?
for op in send write read immed; do
	quick --selfloop --raw --op $op && [ "$(grep -c 'operations' "$dir/out")" = 2 ]
	verdict "both ends in one thread, $op" $?
done
quick --selfloop --raw --op fadd
[ $? = 3 ] && grep -q 'raw: fadd is not supported' "$dir/err"
verdict 'both ends in one thread, an operation that libfabric lacks' $?
quick --selfloop --raw --ia ofi-shm && [ "$(grep -c 'operations' "$dir/out")" = 2 ]
verdict 'both ends in one thread, over shm' $?

quick --ia ofi-shm --raw --srq --op send --test lat
status=$?
[ "$status" = 0 ] || { [ "$status" = 3 ] && grep -q '^  shm .* raw: not supported' "$dir/out"; }
verdict 'a shared receive queue, which libfabric over shm may lack' $?

quick --help && grep -q -- --raw-delivery "$dir/out"
verdict 'help' $?
refuses 'an unknown adapter' 1 'dat_ia_open: DAT_PROVIDER_NOT_FOUND' --ia no-such-adapter
refuses 'an unknown raw provider' 1 'fi_getinfo: provider nope' --raw-only --raw-provider nope
refuses 'an unknown option' 2 'dat_perf --help' --no-such-option
refuses 'a bad size' 2 -- '--size: "4G"' --size 4G
refuses 'write latency by waiting' 2 'polling memory' --op write --test lat --mode wait

refuses 'a mode without meaning' 2 'memory' --op send --mode memory
refuses 'adapter and fabrics at once' 2 'exclude' --ia ofi-tcp --fabrics tcp
refuses 'a bare queue to another host' 2 'itself' --queue localhost
refuses 'checks of the data in one thread' 2 'nor --validate' --selfloop --validate
refuses 'an empty range of sizes' 2 'is empty' --size 1K:64

finish
