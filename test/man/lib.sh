# SPDX-License-Identifier: BSD-2-Clause
# What do the tests of this folder share? (sourced by sh; run from the top of a build tree)
passed=0 failed=0 skipped=0
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-man.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# verdict STATUS NAME: what failed is in $dir/log
verdict()
{
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok $2"
	else
		failed=$((failed + 1))
		echo "not ok $2"
		head -n 20 "$dir/log" | sed 's/^/    /'
	fi
}

# silent NAME: the case holds if $dir/log is empty
silent()
{
	test ! -s "$dir/log"
	verdict $? "$1"
}

skip()
{
	skipped=$((skipped + 1))
	echo "skip $1: $2"
}

# only_over FABRIC: programs find the built libraries, and "ofi" means that fabric over loopback
only_over()
{
	libs=$PWD/.libs:$PWD/prov_ofi/dat2/.libs:$PWD/prov_ofi/dat1/.libs
	LD_LIBRARY_PATH=$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	DAT_OVERRIDE=$dir/dat.conf
	# ThreadSanitizer does not see the synchronisation of libfabric.
	echo 'race:libfabric.so' >"$dir/tsan.supp"
	TSAN_OPTIONS="suppressions=$dir/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
	export LD_LIBRARY_PATH DAT_OVERRIDE TSAN_OPTIONS
	unset DAPL_OFI_PROVIDER DAPL_OFI_DOMAIN
	for v in 1.2 2.0; do
		echo "ofi u$v nonthreadsafe default" \
			"$PWD/prov_ofi/dat${v%.*}/.libs/libdaplofi.so.${v%.*}" \
			"dat-ofi.$v \"provider=$1 domain=lo\" \"\""
	done >"$DAT_OVERRIDE"
}

finish()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit
}
