#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do both libraries export exactly the symbols and version nodes of the interface?
here=${srcdir:-.}/test/libdat
failed=0

# compare LIBRARY SONAME LIST...
compare() {
	library=$1 soname=$2
	shift 2
	if ! readelf -d "$library" | grep -q "soname: \[$soname\]"; then
		echo "$library: SONAME is not $soname"
		failed=1
	fi
	nm -D --defined-only --with-symbol-versions "$library" |
		awk '$2 != "A" { print $3 }' | LC_ALL=C sort > symbols.$$
	if ! cat "$@" | LC_ALL=C sort | diff - symbols.$$; then
		echo "$library: exported symbols differ"
		failed=1
	fi
	rm -f symbols.$$
}

compare .libs/libdat.so.1 libdat.so.1 "$here/symbols-1.2.txt" "$here/symbols-ofi.txt"
compare .libs/libdat2.so.2 libdat2.so.2 "$here/symbols-2.0.txt" "$here/symbols-2.1.txt" \
	"$here/symbols-ofi.txt"

# What 2.1 adds builds on 2.0.
if ! readelf -V .libs/libdat2.so.2 | grep -A1 'Name: DAT_2\.1' | grep -q 'Parent 1: DAT_2\.0'; then
	echo "DAT_2.1 does not inherit DAT_2.0"
	failed=1
fi
exit $failed
