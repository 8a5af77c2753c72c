#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Which unmodified programs work over which fabric? Prints the table of docs/restrictions.md, made by dat_run.
#
# usage: table.sh [-b BUILD] [FABRIC...]
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
BUILD=$PWD
while getopts 'b:' option; do
	case $option in
	b) BUILD=$(cd "$OPTARG" && pwd) || exit 2 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
OUT=$BUILD/test/fabrics/logs/table
PATTERN=
. "$HERE/../stock/lib.sh"
. "$HERE/../stock/judge.sh"
. "$HERE/../stock/dapltest.sh"
. "$HERE/../stock/dtest.sh"
. "$HERE/lib.sh"
[ $# -gt 0 ] || set -- $(all_fabrics)
rm -rf "$OUT"
mkdir -p "$OUT"
lock_folder
BAD=0

# try NAME DAT_RUN_OPTIONS...: the outcome over FABRIC, for a cell of the table
try()
{
	local name=$1 line
	shift
	"$BUILD/tools/run/dat_run" -f "$FABRIC=$FABRIC_PARAMS" --limit 120 \
		-o "$OUT/$FABRIC-$name" "$@" >"$OUT/$FABRIC-$name.log" 2>&1
	line=$(awk -v f="$FABRIC" '$1 == f { print $2; exit }' "$OUT/$FABRIC-$name.log")
	case $line in
	pass) echo yes ;;
	skip) echo - ;;
	*) echo "**no**" ;;
	esac
}

# How dat_run learns that a server is ready.
way()
{
	if fabric_has "$FABRIC" sockets; then echo "--port $1"; else echo "--wait-s 2"; fi
}

# dapltest_cell NAME PROOF ARGUMENTS...
dapltest_cell()
{
	local name=$1 proof=$2
	shift 2
	claim_ports || return
	try "$name" $(way "$PORT") --server "dapltest -T S -D any -n $PORT" --expect "$proof" \
		--reject "$DAPLTEST_BAD|error|fail" -- \
		dapltest -T "$1" -s 127.0.0.1 -D other -n "$PORT" "${@:2}"
}

# pair_cell NAME PROGRAM PROOF OPTIONS: a server that ends with its client
pair_cell()
{
	with_lock dtest locked_cell "$@"
}

locked_cell()
{
	local ready
	claim_ports || return
	can_listen_soon "$SIDE_PORT"
	can_listen_soon "$QUALIFIER"
	ready="--port $SIDE_PORT"
	[ "$2" != dtestsrq ] || ready=$(way "$PORT")
	try "$1" $ready --server-quits --server "$2 -P any -s ${4//PORT/$PORT}" \
		--expect "$3" --reject 'FAILED|ERR|Error|unexpected' --server-expect "$3" -- \
		"$2" -P other -h 127.0.0.1 ${4//PORT/$PORT}
}

limits_cell()
{
	try limits --expect 'EPs created: 100$' \
		--reject 'can not continue|with errors|Mismatch' -- \
		dapltest -T L -D any -m 100 -w 2
}

functional_cell()
{
	claim_ports || return
	try functional --expect 'Result: +PASS' \
		--reject "${DAPLTEST_BAD//cannot |/}|failed in file" \
		-- dapltest -T F -D any -n "$PORT" -s 127.0.0.1 -f endpoint case0 case1 case2
}

row()
{
	case $1 in
	0) dapltest_cell T 'Stats ----' T -V -t 4 -w 8 -i 20 $(ops 4096 3) ;;
	1) dapltest_cell T1M 'Stats ----' T -V -t 1 -w 2 -i 5 $(ops 1048576 1) ;;
	2) dapltest_cell P 'Operation Throughput' P -m b -i 1000 RW 4096 1 ;;
	3) limits_cell ;;
	4) functional_cell ;;
	5) pair_cell dtest dtest 'Complete. PASSED' "-b 4096 -B 100" ;;
	6) pair_cell dtestcm dtestcm 'DAPL Connection Test Complete' "-p PORT -c 100" ;;
	7) pair_cell dtestsrq dtestsrq 'DAPL RC (none )?SRQ Test Complete' "-p PORT -c 10 -B 20" ;;
	esac
}

NAMES=("dapltest -T T, 4 threads x 8 connections, all kinds, validated" "dapltest -T T, 1 MiB"
	"dapltest -T P" "dapltest -T L, 100 of each" "dapltest -T F endpoint" dtest "dtestcm -c 100"
	"dtestsrq -c 10")
printf '| program |'
printf ' %s |' "$@"
printf '\n| -- |'
for fabric; do printf ' -- |'; done
printf '\n'
for ((i = 0; i < ${#NAMES[@]}; i++)); do
	printf '| %s |' "${NAMES[i]}"
	for FABRIC; do
		FABRIC_PARAMS=$(fabric_field "$FABRIC" 2)
		cell=$(row "$i")
		[ "$cell" != "**no**" ] || BAD=1
		printf ' %s |' "${cell:-?}"
	done
	printf '\n'
done
echo
for fabric; do
	reason=$(fabric_refused "$fabric")
	[ -z "$reason" ] || echo "$fabric: not tried here: $reason"
done
exit "$BAD"
