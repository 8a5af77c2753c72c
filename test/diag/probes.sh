#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the provider libraries carry the static probes, with the arguments that dat_probes(7) lists?
set -u

page=${srcdir:-.}/man7/dat_probes.7
passed=0 failed=0

check() { # TEXT, status in $?
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok - $2"
	fi
}

finish() {
	echo "$passed passed, $failed failed, ${1:-0} skipped"
	[ "$failed" -eq 0 ]
	exit
}

if ! grep -q '^PROBE_CPPFLAGS = -D' Makefile; then
	echo "configured without probes"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi
if ! command -v readelf >/dev/null; then
	echo "no readelf"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi

# "name arguments" of each probe of the page and of a library.
listed() {
	sed -n 's/^\.It Fn \([a-z_]*\) *\(.*\)$/\1 \2/p' "$page" |
		awk '{ n = gsub(/"[^"]*"/, "x"); print $1, n }' | sort
}

carried() { # LIBRARY
	readelf -n "$1" 2>/dev/null | awk '
		/Provider: / { ours = $2 == "dat_ofi" }
		/Name: / { name = $2 }
		/Arguments: / && ours { print name, NF - 1 }' | sort -u
}

listed >probes.listed.$$
[ "$(wc -l <probes.listed.$$)" -ge 5 ]
check $? "the page lists the probes"
for v in 1 2; do
	carried prov_ofi/dat$v/.libs/libdaplofi.so.$v >probes.carried.$$
	diff probes.listed.$$ probes.carried.$$
	check $? "probes of libdaplofi.so.$v"
done
rm -f probes.listed.$$ probes.carried.$$

# What the page's example counts, by bpftrace, of a program that runs: "name value" lines.
lib=$PWD/prov_ofi/dat2/.libs/libdaplofi.so.2
dir=$(mktemp -d) || exit 99
tracer= server=
trap 'kill $tracer $server 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# appears WORDS FILE
appears() {
	tries=0
	while [ $tries -lt 200 ] && ! grep -q "$1" "$2" 2>/dev/null; do
		tries=$((tries + 1))
		sleep 0.1
	done
	grep -q "$1" "$2" 2>/dev/null
}

# Attaches to the process $1 until that ends.
trace() {
	timeout -k 5 100 bpftrace -p "$1" -e "
		BEGIN { printf(\"attached\\n\"); }
		usdt:$lib:dat_ofi:post /arg1 == 0/ {
			@begun[arg0, arg2] = 1; @sends = count(); @bytes = sum(arg3); }
		usdt:$lib:dat_ofi:complete /arg1 == 0 && @begun[arg0, arg2]/ {
			@completed = count(); @sent = sum(arg4); @status = max(arg3); }
		usdt:$lib:dat_ofi:established { @active = max(arg1); @up = count(); }
		usdt:$lib:dat_ofi:disconnect { @event = max(arg1); }
		END { clear(@begun); }" >"$dir/trace" 2>&1 &
	tracer=$!
	appears attached "$dir/trace"
}

observe() {
	echo "ofi u2.0 nonthreadsafe default $lib dat-ofi.2.0 \"provider=tcp domain=lo\" \"\"" \
		>"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf
	LD_LIBRARY_PATH=$PWD/.libs:$PWD/prov_ofi/dat2/.libs
	export DAT_OVERRIDE LD_LIBRARY_PATH
	examples/pingpong -n 100 >"$dir/server" 2>&1 &
	server=$!
	appears '^listening on ' "$dir/server" || return 1
	trace $server || return 2
	timeout 60 examples/pingpong -n 100 $(sed -n 's/^listening on //p' "$dir/server") \
		>"$dir/client" 2>&1 || return 1
	wait $server
	server=
	wait $tracer
	tracer=
	sed -n 's/^@\([a-z]*\): \([0-9]*\)$/\1 \2/p' "$dir/trace" | sort >"$dir/counted"
}

if ! command -v bpftrace >/dev/null || [ "$(id -u)" -ne 0 ]; then
	echo "skip - probes of a running program: needs bpftrace and root"
	finish 1
elif head -n 20 config.log | grep -q -e --enable-asan -e --enable-tsan; then
	echo "skip - probes of a running program: not under a sanitizer"
	finish 1
fi
observe
status=$?
if [ $status -eq 2 ]; then
	echo "skip - probes of a running program: $(grep -v '^Attaching' "$dir/trace" | tail -n 1)"
	finish 1
fi
# 0x4005: disconnected
printf '%s\n' 'active 0' 'bytes 6400' 'completed 100' 'event 16389' 'sends 100' 'sent 6400' \
	'status 0' 'up 1' | diff - "$dir/counted" && [ $status -eq 0 ]
check $? "a tracer sees each send, its completion, and the connection"
[ "$failed" -eq 0 ] || cat "$dir/server" "$dir/client" "$dir/trace"
finish
