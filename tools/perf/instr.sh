#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counts the user-level instructions that DAT adds to libfabric for one operation.
#
# Runs dat_perf --selfloop (one process, one thread, both endpoints) under callgrind, twice
# with different lengths; what remains of the difference belongs to the operations. Counted
# is what the program's own thread executes between its calls into libdat and the calls from
# there into libfabric, functions of libc and others included.
# Clock reads are counted apart: dequeues make them at intervals of time, and under callgrind, which
# takes about 50 times as long, an operation has one or two of them instead of one in 16.
set -eu

usage() {
	cat <<END
Usage: instr.sh [options] [dat_perf options, e.g. --ia NAME --cq merged]
  --op send|write|read, --size BYTES   what is counted (default: send of 64 bytes)
  --perf     the dat_perf to run (default: dat_perf found in PATH); one of a build tree
             is run from the top of that tree
  --short, --long   iterations of the two runs (default 200 and 5200; with fewer, what opening and
             connecting differ between the two runs shows)
  --edges    also list each call between program, libdat, provider and libfabric
  --no-raw   do not count raw libfabric, which takes half of the time
END
	exit "$1"
}

perf=dat_perf op=send size=64 short=200 long=5200 edges=0 raw=1
left=$#
while [ "$left" -gt 0 ]; do
	case $1 in
	--perf) perf=$2 taken=2 ;;
	--op) op=$2 taken=2 ;;
	--size) size=$2 taken=2 ;;
	--short) short=$2 taken=2 ;;
	--long) long=$2 taken=2 ;;
	--edges) edges=1 taken=1 ;;
	--no-raw) raw=0 taken=1 ;;
	--help) usage 0 ;;
	*)	# of dat_perf: to the end of the list
		set -- "$@" "$1"
		taken=1 ;;
	esac
	shift "$taken"
	left=$((left - taken))
done
command -v valgrind >/dev/null || { echo "instr.sh: valgrind is not installed" >&2; exit 77; }

# In a build tree the program is a script of libtool; what is to be counted is next to it.
real=$(dirname "$perf")/.libs/$(basename "$perf")
if [ -x "$real" ]; then
	LD_LIBRARY_PATH=$PWD/.libs:$PWD/prov_ofi/dat2/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	perf=$real
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Thread 1 is the program's own; a progress thread of the provider is not counted.
count() { # NAME ITERATIONS OPTIONS...
	name=$1 iters=$2
	shift 2
	timeout 300 valgrind --tool=callgrind --separate-threads=yes \
		--callgrind-out-file="$dir/$name" "$perf" --selfloop --op "$op" --size "$size" \
		--iters "$iters" --warmup 0 --timeout 60 "$@" >"$dir/$name.out" 2>&1 || {
		cat "$dir/$name.out" >&2
		exit 1
	}
}

# One line per kind of call that crosses from one of the four parties to another:
# "from>to function instructions", inclusive of all that the called function does.
crossings() { # FILE
	awk '
	function party(ob) {
		if (ob ~ /libdat2?\.so/) return "libdat"
		if (ob ~ /libdaplofi/) return "provider"
		if (ob ~ /libfabric/) return "libfabric"
		if (ob ~ /dat_perf/) return "program"
		return "other"
	}
	# names are written once as "(7) name" and then as "(7)"
	function name(table, text,    id) {
		id = text
		sub(/\).*/, "", id)
		sub(/^[^)]*\) ?/, "", text)
		if (text != "") known[table, id] = text
		return known[table, id]
	}
	/^ob=/  { ob = name("ob", substr($0, 4)); next }
	/^fn=/  { fn = name("fn", substr($0, 4)); cob = ""; next }
	/^cob=/ { cob = name("ob", substr($0, 5)); next }
	/^cfn=/ { cfn = name("fn", substr($0, 5)); next }
	/^calls=/ {
		getline cost_line
		n = split(cost_line, word, " ")
		from = party(ob)
		to = party(cob == "" ? ob : cob)
		if (from != to && to != "other" && from != "other")
			sum[from ">" to " " cfn] += word[n]
		else if (cfn == "evd_look_at_clock")
			sum["clock " cfn] += word[n]
		cob = ""
		next
	}
	END { for (k in sum) print k, sum[k] }
	' "$1"
}

difference() { # NAME
	crossings "$(own_thread "$1-long")" >"$dir/l"
	crossings "$(own_thread "$1-short")" >"$dir/s"
	awk -v n=$((long - short)) '
		NR == FNR { base[$1, $2] = $3; next }
		{ d = ($3 - base[$1, $2]) / n; if (d >= 0.05) printf "%s %s %.1f\n", $1, $2, d }
	' "$dir/s" "$dir/l" | sort -k1,1 -k3,3nr
}

own_thread() { # NAME
	if [ -e "$dir/$1-01" ]; then echo "$dir/$1-01"; else echo "$dir/$1"; fi
}

count dat-short "$short" "$@"
count dat-long "$long" "$@"
difference dat >"$dir/dat"
: >"$dir/raw"
if [ "$raw" = 1 ]; then
	count raw-short "$short" --raw-only "$@"
	count raw-long "$long" --raw-only "$@"
	difference raw >"$dir/raw"
fi

if [ "$edges" = 1 ]; then
	echo "# calls from one party to another, instructions per operation, inclusive"
	sed 's/^/dat  /' "$dir/dat"
	sed 's/^/raw  /' "$dir/raw"
fi
awk -v op="$op" -v size="$size" -v has_raw="$raw" '
	FILENAME ~ /raw$/ { raw += $3; next }
	$1 ~ /^program>(libdat|provider)$/ { total += $3 }
	$1 ~ />libfabric$/ { fabric += $3 }
	$1 == "clock" { clock += $3 }
	END {
		printf "%s %d bytes, instructions per operation (post, completion", op, size
		printf op == "send" ? ", receive and its completion)\n" : ")\n"
		printf "  DAT in all                 %8.0f\n", total
		printf "  of these libfabric         %8.0f\n", fabric
		printf "  of these clock reads       %8.0f\n", clock
		printf "  of these DAT layer         %8.0f\n", total - fabric - clock
		if (!has_raw)
			exit
		printf "  raw libfabric              %8.0f\n", raw
		printf "  added by DAT (all - raw)   %8.0f\n", total - raw
	}
' "$dir/raw" "$dir/dat"
