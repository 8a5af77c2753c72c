#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does dat_perf measure every pattern, report it in full, and end when something is wrong?
# Run from the top of a build tree; TEST_LIMIT: seconds for each run of dat_perf.
set -u

perf=${DAT_PERF:-tools/perf/dat_perf}
here=$(dirname "$0")
limit=${TEST_LIMIT:-60}
dir=$(mktemp -d)
failed=0
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

LD_LIBRARY_PATH=$PWD/.libs:$PWD/prov_ofi/dat2/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
DAT_OVERRIDE=$dir/dat.conf
# ThreadSanitizer does not see the messages that order a peer's writes into polled memory.
echo 'race:libfabric.so' >"$dir/tsan.supp"
TSAN_OPTIONS="suppressions=$dir/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export LD_LIBRARY_PATH DAT_OVERRIDE TSAN_OPTIONS
unset DAPL_OFI_PROVIDER
echo "ofi-tcp u2.0 nonthreadsafe default $PWD/prov_ofi/dat2/.libs/libdaplofi.so.2" \
	'dat-ofi.2.0 "provider=tcp domain=lo" ""' >"$DAT_OVERRIDE"

verdict() { # NAME 0|1
	if [ "$2" = 0 ]; then
		echo "ok   $1"
	else
		echo "FAIL $1"
		sed 's/^/     /' "$dir/err"
		failed=1
	fi
}

# Runs dat_perf with few iterations; its output is in $dir/out, messages in $dir/err.
quick() {
	timeout "$limit" "$perf" --iters 40 --warmup 4 --rounds 2 "$@" >"$dir/out" 2>"$dir/err"
}

measures() { # NAME ROWS LAYERS OPTIONS...
	name=$1 rows=$2 layers=$3
	shift 3
	quick --format json "$@" && sh "$here/fields.sh" "$dir/out" "$rows" "$layers" 2>>"$dir/err"
	verdict "$name" $?
}

refuses() { # NAME STATUS WORDS OPTIONS...
	name=$1 want=$2 words=$3
	shift 3
	quick "$@"
	[ $? = "$want" ] && grep -q -- "$words" "$dir/err" && ! [ -s "$dir/out" ]
	verdict "$name" $?
}

measures 'raw alone, all patterns' 9 raw --raw-only --op all --test all --size 1,64,65536
measures 'DAT alone' 1 dat --op send
for op in send write read; do
	measures "DAT and raw, $op, polling" 3 'dat raw' --raw --op $op --size 1,64,1M
done
measures 'DAT and raw, all tests' 1 'dat raw' --raw --op send --test all
measures 'DAT and raw, waiting' 2 'dat raw' --raw --op send,read --mode wait
measures 'one queue for both directions' 3 'dat raw' --raw --op all --cq merged
measures 'one queue, waiting' 2 'dat raw' --raw --op send,read --cq merged --mode wait
measures 'bursts with FI_MORE' 3 'dat raw' --raw --op all --raw-more
measures 'writes with FI_DELIVERY_COMPLETE' 1 'dat raw' --raw --op write --raw-delivery

quick --raw --op all --test all && [ "$(grep -c '^  tcp ' "$dir/out")" = 9 ]
verdict 'a table with a line for each measurement' $?
for op in send write read; do
	quick --selfloop --raw --op $op && [ "$(grep -c 'operations' "$dir/out")" = 2 ]
	verdict "both ends in one thread, $op" $?
done

quick --help && grep -q -- --raw-delivery "$dir/out"
verdict 'help' $?
refuses 'an unknown adapter' 1 'dat_ia_open: DAT_PROVIDER_NOT_FOUND' --ia no-such-adapter
refuses 'an unknown raw provider' 1 'fi_getinfo: provider nope' --raw-only --raw-provider nope
refuses 'an unknown option' 2 'dat_perf --help' --no-such-option
refuses 'a bad size' 2 -- '--size: "4G"' --size 4G
refuses 'write latency by waiting' 2 'polling memory' --op write --test lat --mode wait

# A peer that dies or stops ends the run, with the reason and in time.
lose_child() { # SIGNAL WORDS OPTIONS...
	signal=$1 words=$2
	shift 2
	timeout "$limit" "$perf" --iters 10000000 --timeout 2 "$@" >"$dir/out" 2>"$dir/err" &
	run=$!
	tries=0
	set --
	# timeout(1) runs the program, and that its two processes
	while [ $# != 2 ] && [ $tries -lt 100 ]; do
		sleep 0.05
		parent=$(ps -o pid= --ppid $run | tr -d " ")
		set -- $(ps -o pid= --ppid "${parent:-0}")
		tries=$((tries + 1))
	done
	[ $# = 2 ] && kill -"$signal" "$2"
	wait $run
	[ $? = 1 ] && grep -q "$words" "$dir/err"
}
for layer in --raw-only --cq=split; do
	lose_child KILL 'killed by signal 9' --test bw $layer
	verdict "a killed process ends the run ($layer)" $?
	lose_child STOP 'for 2000 ms\|stuck for' --test lat $layer
	verdict "a stopped process ends the run ($layer)" $?
done

exit $failed
