#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the provider libraries carry the static probes, with the arguments that dat_probes(7) lists?
set -u

page=${srcdir:-.}/man7/dat_probes.7
passed=0 failed=0

check() { # TEXT, status in $?
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok - $2"
	fi
}

finish() {
	echo "$passed passed, $failed failed, ${1:-0} skipped"
	[ "$failed" -eq 0 ]
	exit
}

if ! grep -q '^PROBE_CPPFLAGS = -D' Makefile; then
	echo "configured without probes"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi
if ! command -v readelf >/dev/null; then
	echo "no readelf"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi

# "name arguments" of each probe of the page and of a library.
listed() {
	sed -n 's/^\.It Fn \([a-z_]*\) *\(.*\)$/\1 \2/p' "$page" |
		awk '{ n = gsub(/"[^"]*"/, "x"); print $1, n }' | sort
}

carried() { # LIBRARY
	readelf -n "$1" 2>/dev/null | awk '
		/Provider: / { ours = $2 == "dat_ofi" }
		/Name: / { name = $2 }
		/Arguments: / && ours { print name, NF - 1 }' | sort -u
}

listed >probes.listed.$$
[ "$(wc -l <probes.listed.$$)" -ge 5 ]
check $? "the page lists the probes"
for v in 1 2; do
	carried prov_ofi/dat$v/.libs/libdaplofi.so.$v >probes.carried.$$
	diff probes.listed.$$ probes.carried.$$
	check $? "probes of libdaplofi.so.$v"
done
rm -f probes.listed.$$ probes.carried.$$
finish
