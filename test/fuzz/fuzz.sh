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
run cm_wire "$srcdir/test/fuzz/cm_wire.c" "$msgep/cm/cm_msg.c"
run frames "$srcdir/test/fuzz/frames.c" "$srcdir/prov_ofi/base/key_map.c" "$msgep/mr.c" \
	"$msgep/post.c" "$msgep/proto.c" "$msgep/proto_bulk.c" "$msgep/proto_ext.c" \
	"$msgep/proto_read.c" "$msgep/proto_rx.c"
# Its time is its own.
run cells -Wl,--wrap=clock_gettime "$srcdir/test/fuzz/cells.c" "$srcdir/test/fuzz/fabric.c" \
	"$srcdir/prov_ofi/base/forkfd.c" "$msgep/rdm/rdm.c" "$msgep/rdm/rdm_recv.c" \
	"$msgep/rdm/rdm_large.c" "$msgep/rdm/rdm_packets.c" "$msgep/rdm/rdm_open.c" \
	"$msgep/rdm/rdm_peers.c" "$msgep/rdm/rdm_probe.c" "$msgep/rdm/rdm_constrained.c"
run pairs -Wl,--wrap=clock_gettime "$srcdir/test/fuzz/pairs.c" "$srcdir/test/fuzz/pairs_cm.c" \
	"$srcdir/test/fuzz/pairs_msg.c" "$srcdir/test/fuzz/pairs_rig.c" \
	"$srcdir/test/fuzz/fabric_msg.c" "$srcdir/prov_ofi/addr.c" \
	"$srcdir/prov_ofi/base/forkfd.c" "$srcdir/prov_ofi/base/key_map.c" \
	"$srcdir/prov_ofi/base/lock.c" "$msgep/cm/cm_route.c" "$msgep/cm/cm_msg.c" "$msgep/ep.c" \
	"$msgep/cm/inbox.c" "$msgep/mr.c" "$msgep/pair/pair.c" "$msgep/pair/pair_bulk.c" "$msgep/pair/pair_share.c" "$msgep/pair/pair_cm.c" \
	"$msgep/pair/pair_link.c" "$msgep/pair/pair_open.c" "$msgep/pair/pair_recv.c" "$msgep/pair/pair_send.c" \
	"$msgep/pair/pair_sock.c" "$msgep/post.c" "$msgep/proto.c" "$msgep/proto_bulk.c" \
	"$msgep/proto_ext.c" "$msgep/proto_read.c" "$msgep/proto_rx.c" "$msgep/srx.c"
exit $failed
