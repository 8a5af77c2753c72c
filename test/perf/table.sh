#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Compares DAT with raw libfabric, and patterns of transports above DAT with what a user would pick
# instead. Prints the figures of docs/performance.md, a line for each size: the same pattern over both, in
# turns, by dat_perf. Not a test: for a quiet machine.
#
# usage: table.sh [-b BUILD] [-r ROUNDS] [FABRIC...]		default: tcp shm rxm
set -u
ROUNDS=5
. "$(dirname "$0")/figures.sh"
[ $# -gt 0 ] || set -- tcp shm rxm
out=$(mktemp)
other=$(mktemp)
trap 'rm -f "$out" "$other"' EXIT

# run FILE OPTIONS
run()
{
	local file=$1
	shift
	timeout 900 "$BUILD/tools/perf/dat_perf" --fabrics "$fabric" --rounds "$ROUNDS" \
		--format csv "$@" >"$file" || bad=1
}

# perf OPTIONS: libfabric's shm uses CMA by default; which is better depends on
# the machine and the size.
perf()
{
	other_name=raw
	run "$out" --raw "$@"
	: >"$other"
	[ "$fabric" != shm ] || FI_SHM_DISABLE_CMA=1 run "$other" --raw "$@"
}

# pattern OPTIONS: next to what a program would use without DAT
pattern()
{
	: >"$other"
	case $fabric in
	shm) other_name=memory ;;
	*) other_name=sockets ;;
	esac
	run "$out" --raw "$other_name" "$@"
}

# rows WHAT FORMAT FACTOR UNIT: one line for each operation and size; where libfabric was measured in
# two modes, from the run in which it was better
rows()
{
	awk -F, -v what="$1" -v format="$2" -v factor="$3" -v unit="$4" -v other="$other" \
		-v than="$other_name" '
		NR == 1 {
			for (i = 1; i <= NF; i++) col[$i] = i
			raw_at = col[than "_" what "_" unit]
			ratio_at = col[(than == "raw" ? "" : than "_") what "_ratio"]
			getline second <other
			next
		}
		{
			first = $0
			if ((getline second <other) > 0) {
				$0 = second
				better = $raw_at
				$0 = first
				if (unit == "us" ? better + 0 < $raw_at + 0 : better + 0 > $raw_at + 0)
					$0 = second
			}
			text = $col["size"] " B"
			if ($col["size"] % 1024 == 0)
				text = $col["size"] / 1024 " KiB"
			if ($col["size"] % 1048576 == 0)
				text = $col["size"] / 1048576 " MiB"
			mode = $col["mode"] == "poll" ? "" : ", " $col["mode"]
			name = unit == "us" ? "us" : "GB/s"
			raw = $raw_at
			printf "| %s | %s%s | %s | " format " %s | ", $col["fabric"], $col["op"],
				mode, text, $col[what "_" unit] / factor, name
			if (raw == "")
				print "cannot | |"	# libfabric has nothing to sleep on
			else
				printf format " %s | %.2f |\n", raw / factor, name, $ratio_at
		}' "$out"
}

# head_line [WHAT [OTHER]]
head_line()
{
	echo "| fabric | ${1:-operation} | size | DAT | ${2:-libfabric} | ratio |"
	echo "| -- | -- | -- | -- | -- | -- |"
}

echo "$(uname -m), $(nproc) processors, Linux $(uname -r), TCP congestion control" \
	"$(cat /proc/sys/net/ipv4/tcp_congestion_control), load $(cut -d' ' -f1 /proc/loadavg)"
echo
echo "Latency (send and write: half a round trip; read: one read)"
echo
head_line
for fabric; do
	perf --op send,write,read --size 64,4K --test lat --iters 20000
	rows latency %.2f 1 us
	perf --op send --size 64 --test lat --mode wait --iters 20000
	rows latency %.2f 1 us
done
echo
echo "Bandwidth, 16 operations under way"
echo
head_line
for fabric; do
	perf --op send,write,read --size 64K --test bw --iters 32768
	rows bandwidth %.2f 1000 mbps
	perf --op send,write,read --size 1M --test bw --iters 4096
	rows bandwidth %.2f 1000 mbps
done
echo
echo "Patterns of transports above DAT, next to a ring in shared memory (shm) or TCP sockets"
echo
head_line pattern "without DAT"
for fabric; do
	pattern --pattern eager,two-queues --size 8,64,4K,64K --test lat
	rows latency %.2f 1 us
	pattern --pattern eager --size 64K,1M --test bw
	rows bandwidth %.2f 1000 mbps
done
exit "$bad"
