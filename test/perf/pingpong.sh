#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Are our figures of the order that fi_pingpong of libfabric measures on the same fabric?
# Run from the top of a build tree.
set -u
here=$(dirname "$0")
. "$here/lib.sh"

# It prints an average: on a busy machine only the best of several short runs is meaningful.
FACTOR=10
size=1024
best=

# One run on the processors that ours uses; the figure is in $pp. Over shm it wants no domain.
theirs() { # PROVIDER ENDPOINTS
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])') || return 1
	set -- timeout 20 fi_pingpong -p "$1" -e "$2" -I 300 -S $size
	[ "$5" = shm ] || set -- "$@" -d lo
	$first "$@" -B "$port" >"$dir/pp.server" 2>&1 &
	pid=$!
	tries=0
	: >"$dir/pp"
	# the server does not report that it listens
	while [ $tries -lt 20 ] && ! grep -q '^1k' "$dir/pp"; do
		sleep 0.2
		$second "$@" -P "$port" 127.0.0.1 >"$dir/pp" 2>&1
		tries=$((tries + 1))
	done
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	cat "$dir/pp" >"$dir/err"
	# bytes, sent, acks, total, time, MB/sec, usec/xfer, Mxfers/sec
	pp=$(awk '$1 == "1k" { print $7 }' "$dir/pp")
	[ -n "$pp" ]
}

column() { # NAME
	awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) col = i; next }
		{ print $col }' "$dir/out"
}

near() { # OURS
	awk -v ours="$1" -v theirs="$best" -v factor=$FACTOR \
		'BEGIN { exit !(ours > 0 && ours < theirs * factor && theirs < ours * factor) }'
}

if ! command -v fi_pingpong >/dev/null 2>&1 || ! command -v python3 >/dev/null 2>&1; then
	skip 'fi_pingpong agrees' 'no fi_pingpong (Debian: libfabric-bin) or no python3'
	echo "$passed passed, $failed failed, $skipped skipped"
	exit 77
fi
first= second=
# rxm connects with the first message, and polls the handshake every 10 ms by default.
FI_OFI_RXM_CM_PROGRESS_INTERVAL=100
export FI_OFI_RXM_CM_PROGRESS_INTERVAL
if [ "$(nproc)" -ge 2 ] && taskset -c 0 true && taskset -c 1 true; then
	first='taskset -c 0' second='taskset -c 1'
fi 2>/dev/null

busy() {
	load=$(cut -d ' ' -f 1 /proc/loadavg)
	awk -v load="$load" -v cpus="$(nproc)" 'BEGIN { exit !(load > 2 * cpus) }'
}

compare() { # FABRIC PROVIDER ENDPOINTS
	fabric=$1 runs=0 best=
	shift
	timeout "$limit" "$perf" --fabrics "$fabric" --domain lo --raw --test lat --size $size \
		--iters 2000 --rounds 5 --pick best --format csv >"$dir/out" 2>"$dir/err"
	verdict "$fabric: dat_perf measures" $?
	dat=$(column latency_us) raw=$(column raw_latency_us)
	while [ $runs -lt 12 ] && theirs "$@"; do
		best=$(printf '%s\n' "$pp" $best | sort -g | head -n 1)
		runs=$((runs + 1))
		! { [ $runs -ge 3 ] && near "$dat" && near "$raw"; } || break
	done
	[ -n "$best" ]
	verdict "$fabric: fi_pingpong measures" $?
	# It spins on both processors: with other busy processes it waits to be scheduled, for
	# milliseconds at a time, which nothing of ours can do anything about.
	if { ! near "$dat" || ! near "$raw"; } && busy; then
		skip "$fabric: the same order as fi_pingpong" "the machine is busy: load $load"
		return
	fi
	echo "     $fabric, $size bytes: DAT $dat us, raw $raw us, fi_pingpong ${best:-?} us" \
		"(best of $runs runs)" | tee "$dir/err"
	near "$dat"
	verdict "$fabric: DAT is of the same order as fi_pingpong" $?
	near "$raw"
	verdict "$fabric: the raw twin is of the same order as fi_pingpong" $?
}

compare tcp tcp msg
compare shm shm rdm
compare rxm 'tcp;ofi_rxm' rdm

finish
