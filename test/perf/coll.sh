#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Compares collectives of DAT with those of Open MPI, in turns, and prints the figures
# of docs/performance.md: medians of the rounds, microseconds per operation. DAT waits for the event of an
# operation in dat_evd_wait, or polls for it and yields the processor, as Open MPI does if there are
# more processes than processors. Not a test: for a quiet machine, with the packages openmpi-bin and
# libopenmpi-dev.
#
# usage: coll.sh [-b BUILD] [-r ROUNDS] [-n PROCESSES] [FABRIC...]		default: shm tcp
set -u
BUILD=$PWD ROUNDS=3 PROCESSES=8
while getopts 'b:r:n:' option; do
	case $option in
	b) BUILD=$(cd "$OPTARG" && pwd) || exit 2 ;;
	r) ROUNDS=$OPTARG ;;
	n) PROCESSES=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- shm tcp
src=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$BUILD/.libs:$BUILD/prov_ofi/dat2/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
unset DAPL_OFI_PROVIDER DAPL_OFI_DOMAIN
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

command -v mpicc.openmpi >/dev/null || {
	echo "no Open MPI: install openmpi-bin and libopenmpi-dev"
	exit 77
}
mpicc.openmpi -O2 -o "$dir/mpi" "$src/coll.c" "$src/coll_mpi.c" || exit 1

# run NAME FABRIC: lines "operation bytes time"
run()
{
	case $1 in
	wait | poll) timeout 300 "$BUILD/test/perf/coll" "ofi-$2" "$PROCESSES" "$1" ;;
	mpi)
		timeout 300 mpiexec.openmpi --allow-run-as-root --oversubscribe --mca pml ob1 \
			--mca btl "$([ "$2" = shm ] && echo vader || echo tcp),self" \
			--mca btl_tcp_if_include lo -n "$PROCESSES" "$dir/mpi"
		;;
	esac
}

names="wait poll mpi"
for fabric; do
	for ((i = 0; i < ROUNDS; i++)); do
		for name in $names; do
			run "$name" "$fabric" >"$dir/out" 2>"$dir/err" || {
				echo "$name over $fabric failed:" >&2
				tail -n 5 "$dir/err" >&2
				bad=1
			}
			sed "s/^/$fabric $name /" "$dir/out" >>"$dir/all"
		done
	done
done

echo '| fabric | operation | bytes | DAT, wait | DAT, poll | Open MPI |'
echo '| -- | -- | -- | -- | -- | -- |'
sort -k1,2 -k3,3 -k4,4n -k5,5n "$dir/all" | awk -v names="$names" '
	{ key = $1 " | " $3 " | " $4; if (!(key in seen)) { order[++n] = key; seen[key] = 1 }
	  time[key, $2, ++count[key, $2]] = $5 }
	END {
		k = split(names, name, " ")
		for (i = 1; i <= n; i++) {
			printf "| %s |", order[i]
			for (j = 1; j <= k; j++) {
				c = count[order[i], name[j]]
				printf " %s |", c ? time[order[i], name[j], int((c + 1) / 2)] : "-"
			}
			print ""
		}
	}'
exit $bad
