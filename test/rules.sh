#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does the rule table name a case for each rule, and does each of those cases exist?
table=${srcdir:-.}/test/rules.md

# Rows look like "| rule | `case`, `case` |"; a name may end with *.
test/api/test-api-20 --list | awk '
function known(name,   stem, h)
{
	if (name in have)
		return 1
	if (name !~ /\*$/)
		return 0
	stem = substr(name, 1, length(name) - 1)
	for (h in have)
		if (index(h, stem) == 1)
			return 1
	return 0
}
FNR == NR { have[$2] = 1; next }
/^\| (--|rule )/ || !/^\|/ { next }
{
	n = split($0, cell, / \| /)
	names = cell[n]
	bad = ""
	found = 0
	while (match(names, /`[^`]*`/)) {
		name = substr(names, RSTART + 1, RLENGTH - 2)
		names = substr(names, RSTART + RLENGTH)
		found++
		if (!known(name))
			bad = bad " " name
	}
	if (found && bad == "") {
		passed++
	} else {
		print "FAIL missing:" (found ? bad : " any case") "\n     " $0
		failed++
	}
}
END {
	printf "%d passed, %d failed, 0 skipped\n", passed, failed
	exit failed || !passed
}' - "$table"
