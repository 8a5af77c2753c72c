#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Checks each report format of dat_perf, over one fabric and several.
# Run from the top of a build tree.
set -u
here=$(dirname "$0")
. "$here/lib.sh"

quick --raw --test all && grep -q \
	'#bytes #iterations .*t_min .*t_max .*t_typical .*t_avg .*t_stdev .*99% .*99.9%' \
	"$dir/out" && grep -q '#bytes #iterations .*BW peak BW average .*MsgRate' "$dir/out"
verdict 'the table has the columns of perftest' $?

# min <= p50 <= p90 <= p99 <= p99.9 <= max, and average <= peak
quick --format csv --test lat,bw --size 64:1K && awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
	function v(name) { return $col[name] + 0 }
	{
		rows++
		if (NF != length(col)) bad = "columns"
		if (v("latency_min_us") <= 0 || v("latency_min_us") > v("latency_p50_us") ||
		    v("latency_p50_us") > v("latency_p90_us") ||
		    v("latency_p90_us") > v("latency_p99_us") ||
		    v("latency_p99_us") > v("latency_p999_us") ||
		    v("latency_p999_us") > v("latency_max_us") ||
		    v("latency_us") != v("latency_p50_us")) bad = "latency"
		if (v("bandwidth_mbps") > v("bandwidth_peak_mbps")) bad = "bandwidth"
	}
	END { if (bad || rows != 5) { print bad, rows > "/dev/stderr"; exit 1 } }
' "$dir/out" 2>>"$dir/err"
verdict 'CSV: a column for each name, and percentiles in order' $?
quick --raw --format csv && head -n 1 "$dir/out" | grep -q \
	'raw_latency_us.*latency_ratio,bandwidth_ratio,rate_ratio$'
verdict 'CSV: raw figures and ratios' $?

quick --queue --format csv && head -n 1 "$dir/out" | grep -q ',queue_latency_us.*,queue_bibw' &&
	quick --queue --size 64,64K && [ "$(grep -c '| queue:' "$dir/out")" = 2 ]
verdict 'the bare queue in CSV and tables' $?

quick --format osu --test all --size 1:64 && [ "$(grep -c '^# Size' "$dir/out")" = 4 ] &&
	grep -q '^# Size  *Latency (us)$' "$dir/out" &&
	grep -q '^# Size  *Bandwidth (MB/s)$' "$dir/out" &&
	[ "$(grep -c '^64  *[0-9.]*' "$dir/out")" = 4 ] &&
	[ "$(grep -cv '^#' "$dir/out")" = 28 ]
verdict 'OSU: size and figure, a head for each test' $?

measures 'JSON over fabrics' 1 'dat raw' --raw --fabrics tcp --domain lo

quick --raw --fabrics tcp,nope --domain lo
[ $? = 3 ] && grep -q '^# nope: not measured: .*nope' "$dir/out" && grep -q '^  tcp ' "$dir/out"
verdict 'a fabric that does not open is listed with the reason, and is no success' $?
quick --fabrics tcp,nope --domain lo --format json
[ $? = 3 ] && grep -q '"not_measured": \[{"fabric": "nope", "reason": ".*nope' "$dir/out"
verdict 'JSON has it too' $?
quick --fabrics all --domain lo && grep -q '^  tcp ' "$dir/out"
verdict 'all fabrics: those that open' $?
refuses 'no fabric opens' 1 'nope: not measured' --fabrics nope
quick --raw-only --fabrics tcp,shm --domain lo --op send,write,read
case $? in
0) [ "$(grep -c '^  shm ' "$dir/out")" = 6 ] && [ "$(grep -c '^  tcp ' "$dir/out")" = 6 ] ;;
3) grep -q '^# shm: not measured' "$dir/out" ;;
*) false ;;
esac
verdict 'raw libfabric over connected and unconnected endpoints' $?
# Its memory is addressed by offsets, and libfabric calls it otherwise.
quick --raw-only --fabrics tcp,rxm --domain lo --op send,write,read --validate
case $? in
0) [ "$(grep -c '^  rxm ' "$dir/out")" = 6 ] && [ "$(grep -c '^  tcp ' "$dir/out")" = 6 ] ;;
3) grep -q '^# rxm: not measured: .*fi_getinfo' "$dir/out" ;;
*) false ;;
esac
verdict 'raw libfabric over rxm' $?
# What DAT does by shared memory is not compared with a network.
quick --raw --fabrics rxm+shm,constrained --domain lo --format csv --test lat --iters 400 &&
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		{ raw[$1] = $col["raw_latency_us"] }
		END { exit !(raw["rxm+shm"] > 0 && raw["rxm+shm"] < raw["constrained"] / 2) }' "$dir/out"
verdict 'the raw twin of rxm+shm on one host is shared memory' $?
DAPL_OFI_PROVIDER=shm quick --ia ofi-tcp --raw --test lat && ! grep -q ' - ' "$dir/out" &&
	grep -q 'provider of the adapter' "$dir/out"
verdict 'the raw twin follows the adapter, not its name' $?
# Without the private entry the name would lead to a library that does not exist.
echo 'dat_perf-tcp u2.0 nonthreadsafe default /nowhere.so x.2.0 "" ""' >"$dir/other.conf"
DAT_OVERRIDE=$dir/other.conf DAPL_OFI_PROVIDER=nope quick --fabrics tcp --domain lo
verdict 'fabrics need no registry file' $?

! quick --raw --op send,write,read --iters 2000 || grep -q . "$dir/err"
[ $? = 1 ]
verdict 'no progress is shown in redirected output' $?
if command -v script >/dev/null 2>&1; then
	script -qec "timeout $limit $perf --raw --iters 5000 --rounds 4 2>&1 >$dir/out" \
		/dev/null </dev/null >"$dir/err" 2>&1
	grep -q 'of 16: send' "$dir/err" && ! grep -q 'of 16: send' "$dir/out"
	verdict 'progress is shown on a terminal' $?
else
	skip 'progress is shown on a terminal' 'no script(1)'
fi

# The calls of the extension are macros around one with any arguments.
DAPL_OFI_TRACE=$dir/trace.%p quick --fabrics shm --domain lo --op immed,fadd,cswap --test lat &&
	cat "$dir"/trace.* >"$dir/err" && piece='\[0x[0-9a-f]*+8 key 0x[0-9a-f]*\]' &&
	tail="cookie=0x[0-9a-f]*, remote=$piece, flags=DEFAULT) = DAT_SUCCESS" &&
	grep -q "dat_ib_post_fetch_and_add(ep=EP#[0-9]*, add=1, iov=$piece, $tail" "$dir/err" &&
	grep -q "dat_ib_post_cmp_and_swap(ep=EP#[0-9]*, compare=2, swap=3, iov=$piece, $tail" \
		"$dir/err" &&
	grep -q 'dat_ib_post_rdma_write_immed(ep=EP#1, n=1, .* immed=0x7, flags=DEFAULT) = DAT_SUCC' \
		"$dir/err" &&
	grep -q 'event={DAT_IB_DTO_EVENT ep=EP#1 RECEIVE_IMMED .* length=64 immed=0x7}' "$dir/err" &&
	: >"$dir/err"
verdict 'a trace shows the arguments of extensions' $?

if command -v gnuplot >/dev/null 2>&1; then
	quick --raw --op send,write,read --test all --size 64:4K --plot "$dir/it's.svg" &&
		grep -q '</svg>' "$dir/it's.svg" && grep -q 'tcp send poll raw' "$dir/it's.svg"
	verdict 'a plot' $?
	refuses_plot=$(quick --plot /nowhere/x.svg; echo $?)
	[ "$refuses_plot" = 1 ] && grep -q 'could not draw' "$dir/err"
	verdict 'a plot that cannot be written' $?
else
	skip 'a plot' 'no gnuplot'
fi
mkdir "$dir/bin"
for tool in timeout sh sed ls cat expr dirname basename rm mkdir grep uname; do
	ln -s "$(command -v $tool)" "$dir/bin/$tool"
done
PATH=$dir/bin refuses 'no plot without gnuplot' 1 'gnuplot-nox' --plot "$dir/none.svg"

timeout "$limit" "$perf" --iters 100000000 --rounds 1 --limit 2 >"$dir/out" 2>"$dir/err"
[ $? = 1 ] && grep -q 'not finished within 2 s' "$dir/err" && ! [ -s "$dir/out" ]
verdict 'a run has a time limit' $?

finish
