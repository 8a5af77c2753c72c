#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the plots of docs/plots: figures of DAT over the message size, next to those of what a program
# would use without DAT, by dat_perf. Not a test: for a quiet machine. Each plot takes a minute or two.
#
# usage: plots.sh [-b BUILD] [-r ROUNDS] [PLOT...]	default: all
set -u
ROUNDS=3
# Over a network, where the usual number takes several minutes.
ITERS=2000
HERE=$(cd "$(dirname "$0")" && pwd)
DOCS=$(cd "$HERE/../../docs" && pwd)
. "$HERE/figures.sh"
[ $# -gt 0 ] || set -- tcp shm rxm patterns-tcp patterns-shm
mkdir -p "$DOCS/plots"

# draw NAME OPTIONS: also prints the command
draw()
{
	local name=$1
	shift
	set -- --rounds "$ROUNDS" --test lat,bw "$@" --plot "$DOCS/plots/$name.svg"
	echo "\$ dat_perf $*" | sed "s|$DOCS/plots/||"
	timeout --foreground 900 "$BUILD/tools/perf/dat_perf" "$@" --format csv || bad=1
}

for plot; do
	sizes=8,64,512,4K,16K,64K,256K,1M,4M
	case $plot in
	shm)
		draw "$plot" --fabrics "$plot" --raw --op send,write,read --size $sizes ;;
	tcp | rxm)
		draw "$plot" --fabrics "$plot" --raw --op send,write,read --size ${sizes%,4M} \
			--iters $ITERS ;;
	patterns-tcp)
		draw "$plot" --fabrics tcp --raw sockets --pattern eager,two-queues \
			--size ${sizes%,4M} --iters $ITERS ;;
	patterns-shm)
		draw "$plot" --fabrics shm --raw memory --pattern eager,two-queues --size $sizes ;;
	*)
		echo "plots.sh: unknown plot $plot" >&2
		exit 2 ;;
	esac
done
exit "$bad"
