#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the page of each call lists the errors that the call returns for bad arguments.
# Run from the top of a build tree; test/man/results makes the calls.
set -u
. "${srcdir:-.}/test/man/lib.sh"

# listed PAGE: the results that a page lists, as "TYPE SUBTYPE" or "TYPE "
listed()
{
	sed -n -e 's,^\.It Dv \(DAT_[A-Z_]*\) Ns / Ns Dv \(DAT_[A-Z0-9_]*\**\)$,\1 \2,p' \
		-e 's,^\.It Dv \(DAT_[A-Z_]*\)$,\1 ,p' "$1"
}

# compare PROGRAM LEAST: makes the calls, and looks up the result of each
compare()
{
	timeout -k 5 "${TEST_LIMIT:-120}" "test/man/$1" >"$dir/results" 2>"$dir/log"
	verdict $? "all calls were made ($over)"
	: >"$dir/few"
	[ "$(wc -l <"$dir/results")" -ge "$2" ] || echo 'too few results' >"$dir/few"
	for call in $(cut -d ' ' -f 1 "$dir/results" | sort -u); do
		page=$src/man3/$call.3
		alias=$(sed -n '1s/^\.so //p' "$page")
		[ -z "$alias" ] || page=$src/$alias
		listed "$page" >"$dir/listed"
		grep "^$call " "$dir/results" | sort -u | while read -r _ type subtype; do
			[ "$type" != DAT_SUCCESS ] || continue
			family=$(echo "$subtype" | sed 's/_EP_[A-Z]*$/_EP_*/')
			grep -qxF -e "$type $subtype" -e "$type $family" "$dir/listed" ||
				echo "$call returned $type $subtype"
		done >"$dir/log"
		cat "$dir/few" >>"$dir/log"
		silent "$call(3) lists its results ($over)"
	done
}

fabrics='tcp shm rxm constrained'
# The calls are the same: one fabric of each kind will do.
! head -n 20 config.log | grep -q -e --enable-asan -e --enable-tsan || fabrics='tcp shm'
for fabric in $fabrics; do
	only_over $fabric
	over="2.0, $fabric"
	compare results 200
	over="1.2, $fabric"
	compare results-12 180
done

finish
