#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the fuzz targets for FUZZ_TIME seconds (5) each, with the assertions of --enable-debug: with
# libFuzzer if a clang of FUZZ_CC (several names) has it, else with our own driver as the tree has
# been built. The corpus is not changed; new inputs of libFuzzer are left in fuzz-new/TARGET.
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
		$clang -std=gnu11 -g -O1 -D_GNU_SOURCE -DDOFI_DEBUG -fsanitize=fuzzer,address,undefined \
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

# The sources of a target, without the driver: local.mk lists them.
sources()
{
	sed -n -E "/^(test_fuzz_driver_$1_SOURCES|fuzz_$1_code) =/,/[^\\\\]\$/p" \
		"$srcdir/test/fuzz/local.mk" |
		tr -s ' \\\t' '\n' | sed -n "/driver\\.c\$/d; s#^.*\\.c\$#$srcdir/&#p"
}

# shellcheck disable=SC2046 # paths without blanks
{
	run cm_msg $(sources cm_msg)
	run frames $(sources frames)
	run ready $(sources ready)
	# These have a clock of their own.
	run packets -Wl,--wrap=clock_gettime $(sources packets)
	run pairs -Wl,--wrap=clock_gettime $(sources pairs)
}
exit $failed
