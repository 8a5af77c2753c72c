#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does dat_perf measure the patterns of transports over DAT, sockets and shared memory, and notice
# wrong bytes in each of them? Run from the top of a build tree.
set -u
here=$(dirname "$0")
. "$here/lib.sh"

# The default limits: 8 KiB is the longest eager message, 8193 the shortest long one.
sizes=1,8,8K,8193,64K
for fabric in tcp shm; do
	set -- --fabrics $fabric --domain lo --raw sockets,memory
	measures "eager, $fabric" 5 'dat sockets memory' "$@" --pattern eager --test lat,bw,rate \
		--size $sizes
	measures "eager, validated, $fabric" 5 'dat sockets memory' "$@" --pattern eager \
		--test all --size $sizes --validate
	measures "halo, validated, $fabric" 5 'dat sockets memory' "$@" --pattern halo \
		--size $sizes --validate
	# it has no stream
	for cq in split merged; do
		quick "$@" --pattern two-queues --size 1,8,64K --validate --cq $cq &&
			[ "$(grep -c "^  $fabric  *two-queues" "$dir/out")" = 3 ] &&
			! grep -q "^  $fabric .* - " "$dir/out"
		verdict "two-queues, $cq, $fabric" $?
	done
	# more messages than the ring has slots, and more long ones than may be under way
	measures "a window of 200, $fabric" 2 'dat sockets memory' "$@" --pattern eager \
		--size 64,9000 --window 200 --iters 600 --test all --validate
	measures "cached registrations, $fabric" 2 'dat sockets memory' "$@" --pattern eager \
		--size 64K,1M --registration cached --validate
	measures "another limit, $fabric" 2 'dat sockets memory' "$@" --pattern eager,halo \
		--size 100 --eager-limit 99 --validate
	quick "$@" --pattern eager --size 4M --iters 8 --warmup 1 --rounds 1 --validate
	verdict "4 MiB, $fabric" $?
done
measures 'all patterns over packets' 2 dat --fabrics rxm --domain lo --pattern eager,halo --size 64K \
	--validate
measures 'without DAT' 2 'sockets memory' --raw=sockets,memory --raw-only --pattern eager,halo

# Processes of different hosts have no shared memory.
start_server --domain lo
measures 'client and server' 2 'dat sockets' 127.0.0.1 --port "$port" --fabrics tcp --domain lo \
	--pattern eager,halo --raw sockets --size 64K --validate
stop_server

quick --pattern eager --raw sockets --format csv && head -n 1 "$dir/out" | grep -q \
	'sockets_latency_us.*,sockets_latency_ratio,sockets_bandwidth_ratio,sockets_rate_ratio$'
verdict 'CSV: figures and ratios' $?
quick --pattern two-queues --raw memory --format csv && awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
	{ exit !($col["op"] == "two-queues" && $col["latency_us"] > $col["memory_latency_us"] &&
		 $col["memory_latency_us"] > 0 && $col["bandwidth_mbps"] == "") }' "$dir/out"
verdict 'CSV: the latency of DAT over tcp is above that of shared memory' $?
quick --pattern eager --raw sockets --format osu && [ "$(grep -c 'Sockets' "$dir/out")" = 2 ]
verdict 'OSU: a column for sockets' $?

# The receiver detects a byte that is corrupted from the Nth fill on; 9000 is a long message.
sees() { # NAME WORDS OPTIONS...
	name=$1 words=$2
	shift 2
	DAT_PERF_CORRUPT=20 timeout "$limit" "$perf" --validate --iters 40 --warmup 4 --rounds 1 \
		--test lat,bw "$@" >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] && grep -q "validate: $words.* instead of" "$dir/err" && ! [ -s "$dir/out" ]
	verdict "$name" $?
}
for kind in --cq=split '--raw=sockets --raw-only' '--raw=memory --raw-only'; do
	for size in 256 9000; do
		sees "a wrong byte of a message ($kind, $size)" 'message 19' $kind \
			--pattern eager --size $size
		sees "a wrong byte of a write ($kind, $size)" 'write 20' $kind \
			--pattern two-queues --size $size
		sees "a wrong byte of an exchange ($kind, $size)" 'message 1,' $kind \
			--pattern halo --size $size
	done
done

# A process that is stopped ends the run.
stopped() { # PATTERN OPTIONS...
	timeout "$limit" "$perf" --iters 10000000 --timeout 2 --size 64 --test lat --pattern "$@" \
		>"$dir/out" 2>"$dir/err" &
	run=$!
	measuring $run 2 && working ${found##* } && kill -STOP ${found##* }
	wait $run
	[ $? = 1 ] && grep -q 'for 2000 ms\|stuck for' "$dir/err" && ! [ -s "$dir/out" ]
	verdict "a stopped process ends the run ($*)" $?
}
for pattern in eager two-queues halo; do
	stopped $pattern
done
stopped eager --raw sockets --raw-only
stopped eager --raw memory --raw-only

refuses 'an unknown pattern' 2 '"lazy" is unknown' --pattern lazy
refuses 'a pattern with libfabric' 2 'sockets or --raw memory' --pattern eager --raw
refuses 'sockets without a pattern' 2 'for --pattern' --raw sockets
refuses 'shared memory with another host' 2 'itself' --pattern eager --raw memory localhost
refuses 'a stream of two-queues' 2 'no case is left' --pattern two-queues --test bw
refuses 'a pattern that waits' 2 'patterns poll' --pattern eager --mode wait
refuses 'a pattern with several endpoints' 2 'neither' --pattern eager --eps 2
refuses 'a limit that is too long' 2 '64K' --pattern eager --eager-limit 1M
refuses 'another registration' 2 'registration' --pattern eager --registration never

finish
