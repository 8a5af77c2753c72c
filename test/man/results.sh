#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the page of each call lists the errors that the call returns for bad arguments.
# Run from the top of a build tree; test/man/results makes the calls.
set -u
. "${srcdir:-.}/test/man/lib.sh"

# unlisted: for each call, a file $dir/CALL.unlisted of the results that its page does not list. A page
# lists them as "TYPE/SUBTYPE" or "TYPE"; _EP_* is any state.
unlisted()
{
	awk -v src="$src" -v dir="$dir" '
	function read_page(call, page, line, w)
	{
		page = src "/man3/" call ".3"
		if ((getline line <page) > 0 && sub(/^\.so /, "", line)) {
			close(page)
			page = src "/" line
		}
		while ((getline line <page) > 0) {
			split(line, w, " ")
			if (line ~ /^\.It Dv DAT_[A-Z_]* Ns \/ Ns Dv DAT_[A-Z0-9_]*\**$/)
				listed[call, w[3] " " w[8]]
			else if (line ~ /^\.It Dv DAT_[A-Z_]*$/)
				listed[call, w[3] " "]
		}
		close(page)
	}
	!($1 in of) {
		of[$1] = dir "/" $1 ".unlisted"
		printf "" >of[$1]
		read_page($1)
	}
	$2 != "DAT_SUCCESS" {
		family = $3
		sub(/_EP_[A-Z]*$/, "_EP_*", family)
		if (!(($1, $2 " " $3) in listed) && !(($1, $2 " " family) in listed))
			print $1 " returned " $2 " " $3 >of[$1]
	}' "$dir/results"
}

# compare PROGRAM LEAST: makes the calls, and looks up the result of each
compare()
{
	timeout -k 5 "${TEST_LIMIT:-120}" "test/man/$1" >"$dir/results" 2>"$dir/log"
	status=$?
	if [ "$(wc -l <"$dir/results")" -lt "$2" ]; then
		echo 'too few results' >>"$dir/log"
		status=1
	fi
	verdict $status "all calls were made ($over)"
	rm -f "$dir"/*.unlisted
	unlisted 2>"$dir/log"
	verdict $? "all results were looked up ($over)"
	for file in "$dir"/*.unlisted; do
		[ -e "$file" ] || continue
		call=${file##*/}
		if [ -s "$file" ]; then
			sort -u "$file" >"$dir/log"
			verdict 1 "${call%.unlisted}(3) lists its results ($over)"
		else
			verdict 0 "${call%.unlisted}(3) lists its results ($over)"
		fi
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
