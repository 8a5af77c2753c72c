#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the fuzz targets for FUZZ_TIME seconds (5) each: with libFuzzer if a clang has it, else with
# our own driver. The corpus is not changed; new inputs of libFuzzer are left in
# fuzz-new/TARGET.
srcdir=${srcdir:-.}
time=${FUZZ_TIME:-5}
failed=0

has_fuzzer()
{
	echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n);
int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n)
{ return p && n > 9 ? 0 : 0; }' |
		$1 -fsanitize=fuzzer,address,undefined -x c - -o test/fuzz/.probe 2>/dev/null
	got=$?
	rm -f test/fuzz/.probe
	return $got
}

clang=
for c in ${FUZZ_CC:-clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19}; do
	if command -v "$c" >/dev/null && has_fuzzer "$c"; then
		clang=$c
		break
	fi
done

# target, sources
run()
{
	target=$1
	shift
	corpus=$srcdir/test/fuzz/corpus/$target
	if [ -n "$clang" ]; then
		mkdir -p "fuzz-new/$target"
		$clang -std=gnu11 -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
			-fno-sanitize-recover=undefined -I"$srcdir/include" -I"$srcdir/prov_ofi" \
			-I"$srcdir/test/fuzz" $FUZZ_CPPFLAGS "$@" -o "test/fuzz/$target.fuzz" &&
			"test/fuzz/$target.fuzz" -max_total_time="$time" -max_len=2048 -timeout=10 \
				-artifact_prefix="fuzz-new/$target-" "fuzz-new/$target" "$corpus" \
				2>"fuzz-new/$target.log"
		result=$?
		[ $result = 0 ] || grep -v '^#' "fuzz-new/$target.log"
		tail -1 "fuzz-new/$target.log"
		rm -f "test/fuzz/$target.fuzz"
	else
		"test/fuzz/driver-$target" "$time" "$corpus"
		result=$?
	fi
	[ $result = 0 ] || failed=1
}

rdm=$srcdir/prov_ofi/rdm
run cm_wire "$srcdir/test/fuzz/cm_wire.c" "$rdm/cm_wire.c"
run frames "$srcdir/test/fuzz/frames.c" "$srcdir/prov_ofi/base/key_map.c" "$rdm/mr.c" \
	"$rdm/post.c" "$rdm/proto.c" "$rdm/proto_bulk.c" "$rdm/proto_ext.c" \
	"$rdm/proto_read.c" "$rdm/proto_rx.c"
# Its time is its own.
run cells -Wl,--wrap=clock_gettime "$srcdir/test/fuzz/cells.c" "$srcdir/test/fuzz/fabric.c" \
	"$srcdir/prov_ofi/base/forkfd.c" "$rdm/wire_fab.c" "$rdm/wire_fab_arrive.c" \
	"$rdm/wire_fab_bulk.c" "$rdm/wire_fab_cells.c" "$rdm/wire_fab_open.c" \
	"$rdm/wire_fab_peers.c" "$rdm/wire_fab_probe.c" "$rdm/wire_fab_test.c"
run pairs -Wl,--wrap=clock_gettime "$srcdir/test/fuzz/pairs.c" "$srcdir/test/fuzz/pairs_cm.c" \
	"$srcdir/test/fuzz/pairs_msg.c" "$srcdir/test/fuzz/pairs_rig.c" \
	"$srcdir/test/fuzz/fabric_msg.c" "$srcdir/prov_ofi/addr.c" \
	"$srcdir/prov_ofi/base/forkfd.c" "$srcdir/prov_ofi/base/key_map.c" \
	"$srcdir/prov_ofi/base/lock.c" "$rdm/cm_route.c" "$rdm/cm_wire.c" "$rdm/ep.c" \
	"$rdm/inbox.c" "$rdm/mr.c" "$rdm/pair.c" "$rdm/pair_bulk.c" "$rdm/pair_share.c" "$rdm/pair_cm.c" \
	"$rdm/pair_link.c" "$rdm/pair_open.c" "$rdm/pair_recv.c" "$rdm/pair_send.c" \
	"$rdm/pair_sock.c" "$rdm/post.c" "$rdm/proto.c" "$rdm/proto_bulk.c" \
	"$rdm/proto_ext.c" "$rdm/proto_read.c" "$rdm/proto_rx.c" "$rdm/srx.c"
exit $failed
