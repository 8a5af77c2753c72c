#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does dat_perf measure each operation, test and mode, with several endpoints, and are the
# bytes right where they are checked? Run from the top of a build tree.
set -u
here=$(dirname "$0")
. "$here/lib.sh"

# Runs with everything checked, and wants a figure in the last columns of each line.
complete() { # NAME LINES OPTIONS...
	name=$1 want=$2
	shift 2
	quick --raw --validate "$@" && [ "$(grep -c "^  $fabric " "$dir/out")" = "$want" ] &&
		! grep -q "^  $fabric .* - " "$dir/out"
	verdict "$name" $?
}
fabric=tcp

for op in send write read immed; do
	for test in lat bw bibw rate; do
		lines=3
		[ "$op $test" != 'write lat' ] || lines=1
		complete "$op $test, polling, waiting and by CNO" $lines --op $op --test $test \
			--mode poll,wait,cno --size 1000
	done
done
complete 'write lat memory' 1 --op write --test lat --mode memory
complete 'all modes at once' 8 --op send,write,read --test lat --mode all
complete 'sizes from 1 to 128K' 18 --op send --test bw --size 1:128K
complete 'one queue for both directions' 12 --op send,write,read --test all --cq merged
complete 'four endpoints' 12 --op send,write,read --test all --eps 4 --size 64
complete 'four endpoints, waiting' 3 --op send,write,read --test bw --eps 4 --mode wait
complete 'bursts over three endpoints' 3 --op send,write,read --test bw --eps 3 --burst --raw-more

# Buffers and receives follow from the window, so that the memory for all connections is available.
many() { # NAME CONNECTIONS LINES OPTIONS...
	name=$1 eps=$2 want=$3
	shift 3
	quick --eps "$eps" --validate --size 64 --rounds 1 "$@" &&
		[ "$(grep -c "^  $fabric " "$dir/out")" = "$want" ] &&
		grep -q ", $eps EPs" "$dir/out"
	verdict "$name" $?
}
many '1,000 connections in turn' 1000 3 --op send,write,read --test lat --iters 3000
many 'a stream over 1,000 connections' 1000 3 --op send,write,read --test rate --iters 20000
many '10,000 connections in turn' 10000 1 --op send --test lat --iters 10000
refuses 'more connections than the maximum' 2 '--eps' --eps 10001

# Atomic operations are in order, so each finds the result of the previous one.
for fabric in shm rxm; do
	for op in fadd cswap; do
		complete "$op, all tests, over $fabric" 4 --fabrics $fabric --domain lo --op $op \
			--test all --size 64,4K
	done
done
# Raw shm has nothing to sleep on.
complete "atomic operations, waiting, two endpoints, over $fabric" 4 --fabrics $fabric --domain lo \
	--op fadd,cswap --test bw,bibw --mode cno --eps 2
fabric=tcp
quick --raw --op fadd,cswap --size 64,4K
[ $? = 3 ] && [ "$(grep -c '^  tcp .*  raw: not supported$' "$dir/out")" = 4 ] &&
	! grep -q 'DAT: not supported' "$dir/out"
verdict "what libfabric's tcp lacks is reported, and is no success" $?
quick --raw --op all --test lat && [ "$(grep -c '^  tcp ' "$dir/out")" = 6 ] &&
	[ "$(grep -c 'not supported' "$dir/out")" = 2 ]
verdict 'all operations' $?
quick --raw --op all --test lat --srq && [ "$(grep -c '^  tcp ' "$dir/out")" = 6 ] &&
	! grep -q 'DAT: not supported' "$dir/out"
verdict 'all operations with a shared receive queue' $?

quick --size all --test lat --iters 2 --warmup 0 --rounds 1 &&
	[ "$(grep -c '^  tcp ' "$dir/out")" = 23 ]
verdict 'all sizes' $?

# The receiver detects a byte that is corrupted from the Nth fill on.
sees() { # NAME WORDS N OPTIONS...
	name=$1 words=$2 n=$3
	shift 3
	DAT_PERF_CORRUPT=$n timeout "$limit" "$perf" --validate --iters 40 --warmup 4 --rounds 1 \
		--size 256 "$@" >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] && grep -q "validate: $words.* instead of" "$dir/err" && ! [ -s "$dir/out" ]
	verdict "$name" $?
}
for kind in --cq=split --raw-only; do
	for test in lat bw bibw; do
		sees "a wrong byte of a message ($test, $kind)" 'message [12][09]' 20 --op send \
			--test $test $kind
		sees "a wrong byte of a write ($test, $kind)" 'write' 20 --op write --test $test \
			$kind
		sees "a wrong byte of a write with immediate data ($test, $kind)" 'write' 20 \
			--op immed --test $test $kind
		sees "a wrong byte of what is read ($test, $kind)" 'read' 1 --op read --test $test \
			$kind
	done
done

# Shared receives: raw libfabric has them; DAT has them if the adapter reports so.
timeout "$limit" "$perf" --raw --srq --eps 4 --validate --test bw,rate --iters 40 --rounds 1 \
	>"$dir/out" 2>"$dir/err"
status=$?
[ "$(grep -c '^  tcp ' "$dir/out")" = 2 ] &&
	if [ $status = 3 ]; then
		[ "$(grep -c 'DAT: not supported' "$dir/out")" = 2 ]
	else
		[ $status = 0 ] && ! grep -q '^  tcp .* - ' "$dir/out"
	fi
verdict 'a shared receive queue is measured, or reported as missing' $?
DAT_PERF_CORRUPT=20 quick --raw-only --srq --eps 2 --validate --test bw --warmup 4
[ $? = 1 ] && grep -q 'validate: message' "$dir/err"
verdict 'a wrong byte in a shared receive queue' $?

finish
