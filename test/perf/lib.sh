# SPDX-License-Identifier: BSD-2-Clause
# What do the tests of dat_perf have in common? To be sourced from the top of a build tree.
# TEST_LIMIT: seconds for each run of dat_perf.
perf=${DAT_PERF:-tools/perf/dat_perf}
# of libtool's script and the program behind it the latter has no children but its own
[ ! -x tools/perf/.libs/dat_perf ] || perf=${DAT_PERF:-$PWD/tools/perf/.libs/dat_perf}
limit=${TEST_LIMIT:-60}
dir=$(mktemp -d)
passed=0 failed=0 skipped=0
server=
trap 'stop_server; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

LD_LIBRARY_PATH=$PWD/.libs:$PWD/prov_ofi/dat2/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
DAT_OVERRIDE=$dir/dat.conf
# ThreadSanitizer does not see the messages that order a peer's writes into polled memory.
echo 'race:libfabric.so' >"$dir/tsan.supp"
TSAN_OPTIONS="suppressions=$dir/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export LD_LIBRARY_PATH DAT_OVERRIDE TSAN_OPTIONS
unset DAPL_OFI_PROVIDER DAPL_OFI_DOMAIN DAT_PERF_CORRUPT
echo "ofi-tcp u2.0 nonthreadsafe default $PWD/prov_ofi/dat2/.libs/libdaplofi.so.2" \
	'dat-ofi.2.0 "provider=tcp domain=lo" ""' >"$DAT_OVERRIDE"
: >"$dir/err"

verdict() { # NAME 0|1
	if [ "$2" = 0 ]; then
		echo "ok   $1"
		passed=$((passed + 1))
	else
		echo "FAIL $1"
		sed 's/^/     /' "$dir/err"
		failed=$((failed + 1))
	fi
}

skip() { # NAME REASON
	echo "skip $1: $2"
	skipped=$((skipped + 1))
}

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
	exit
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

# Starts a server on a port of its choice, which is in $port; its words are in $dir/server.*
start_server() { # OPTIONS...
	timeout "$limit" "$perf" --server --port 0 --bind 127.0.0.1 "$@" \
		>"$dir/server.out" 2>"$dir/server.err" &
	server=$!
	tries=0 port=
	while [ -z "$port" ] && [ $tries -lt 200 ] && kill -0 $server 2>/dev/null; do
		sleep 0.05
		port=$(sed -n 's/.* listening on .* port //p' "$dir/server.out")
		tries=$((tries + 1))
	done
	[ -n "$port" ]
}

stop_server() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	server=
}

# The processes that measure below the one that was started in the background as $1.
measuring() { # PID COUNT
	tries=0 found=
	while [ $tries -lt 200 ]; do
		# timeout(1) runs the program, and that its processes
		parent=$(ps -o pid= --ppid "$1" | tr -d ' ')
		found=
		[ -z "$parent" ] || found=$(ps -o pid= --ppid "$parent")
		set -- "$1" "$2" $found
		[ $(($# - 2)) = "$2" ] && return 0
		set -- "$1" "$2"
		sleep 0.05
		tries=$((tries + 1))
	done
	return 1
}

# Waits until the process has used so much processor time that it has opened its adapter and measures:
# the former takes some 40 hundredths of a second, on a busy machine after a long time.
working() { # PID
	tries=0
	while [ $tries -lt 400 ]; do
		ticks=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2>/dev/null) || return 1
		[ "${ticks:-0}" -ge 100 ] && return 0
		sleep 0.05
		tries=$((tries + 1))
	done
	return 1
}
