#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What does a connection cost over which fabric? Prints a table out of a thousand between two
# processes (test/robust/many), 64 requested at once.
#
# usage: numbers.sh [-b BUILD] [-n CONNECTIONS] [FABRIC...]
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
BUILD=$PWD COUNT=1000
while getopts 'b:n:' option; do
	case $option in
	b) BUILD=$(cd "$OPTARG" && pwd) || exit 2 ;;
	n) COUNT=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
. "$HERE/lib.sh"
[ $# -gt 0 ] || set -- $(all_fabrics)

# cells LOG: connections per second, then the costs of the active and of the passive side
cells()
{
	awk '/ connections in / { rate = $NF; sub(/\/s$/, "", rate) }
	/ per connection$/ {
		side = /active side/ ? 0 : 1
		match($0, /: [-0-9.]+ KiB/); rss[side] = substr($0, RSTART + 2, RLENGTH - 6)
		match($0, /PSS [-0-9.]+/); pss[side] = substr($0, RSTART + 4, RLENGTH - 4)
		match($0, /[-0-9.]+ descriptors/); fds[side] = substr($0, RSTART, RLENGTH - 12)
		match($0, /[-0-9.]+ threads/); thr[side] = substr($0, RSTART, RLENGTH - 8)
	}
	END {
		printf " %s | %s / %s | %s / %s | %s / %s | %s / %s |\n", rate, rss[0], rss[1],
			pss[0], pss[1], fds[0], fds[1], thr[0], thr[1]
	}' "$1"
}

bad=0
mkdir -p "$BUILD/test/fabrics/logs"
echo "| fabric | connections/s | KiB RSS active / passive | KiB PSS | descriptors | threads |"
echo "| -- | -- | -- | -- | -- | -- |"
for fabric; do
	log=$BUILD/test/fabrics/logs/numbers-$fabric.log
	reason=$(fabric_refused "$fabric")
	if [ -n "$reason" ]; then
		echo "| $fabric | not tried here: $reason | | | | |"
	elif DAT_TEST_FABRIC=$fabric timeout 300 "$BUILD/test/robust/many" 64-at-a-time \
		"n=$COUNT" >"$log" 2>&1; then
		echo "| $fabric |$(cells "$log")"
	else
		echo "| $fabric | failed: $(grep -m 1 '^not ok' "$log") | | | | |"
		bad=1
	fi
done
exit "$bad"
