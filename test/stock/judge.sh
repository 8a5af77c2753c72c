# SPDX-License-Identifier: BSD-2-Clause
# Did a stock program succeed, by its words, and did a checker see our code do wrong?
#
# dapltest exits with 0 whatever happens, dtest nearly so: what they print decides. Each
# judge prints one reason, or nothing when all is well.

# first_line FILE PATTERN: the first line that matches, trimmed
first_line()
{
	grep -m1 -aE -e "$2" "$1" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//' | cut -c1-150
}

# said FILE PATTERN PROOF: complains of a line that matches PATTERN, then of the lack of PROOF
said()
{
	local line
	line=$(first_line "$1" "$2")
	if [ -n "$line" ]; then
		echo "it said \"$line\""
	elif ! grep -qaE -e "$3" "$1"; then
		echo "its output lacks what success prints (/$3/)"
	fi
}

DAPLTEST_BAD='Test Error|Result: FAIL|FAILED|FAIL:|bad (dis)?connect(ion)? event|mismatch'
DAPLTEST_BAD+='|Could not open|cannot |[Nn]o [Mm]emory|^USAGE|Internal Error|Unknown TestType'
DAPLTEST_BAD+='|error: |error\[|sync (send|recv) error|bogus|swallowing|destroy fails|did not report'

judge_transaction()
{
	said "$1" "$DAPLTEST_BAD|error|fail" 'Stats ----|not +enough time has lapsed'
}

judge_performance()
{
	said "$1" "$DAPLTEST_BAD|error|fail" 'Operation Throughput'
}

# "Result: PASS" follows even after a failed assertion, which reads "... failed in file ...";
# and of its descriptions some contain "fails".
judge_functional()
{
	said "$1" "$DAPLTEST_BAD|failed in file|^Error = |fff |don't know" 'Result: +PASS'
}

# To fail is what a limit test tries: only failures to clean up count.
judge_limit()
{
	said "$1" "Could not open|can not continue|with errors|_free.* fails|Mismatch|bogus|^USAGE" \
		'testing and cleanup complete'
}

judge_server()
{
	said "$1" "$DAPLTEST_BAD" 'Client Requests Server to Quit|Await'
}

judge_dtest()
{
	said "$1" 'FAILED|ERR|Error|unexpected|WARNING' 'DAPL Test Complete. PASSED'
}

judge_dtestcm()
{
	said "$1" 'FAILED|ERR|Error|unexpected|invalid EP' 'DAPL Connection Test Complete'
}

# ---------------------------------------------------------------- memory checkers

# Errors with a frame of ours; leaks only when we are who called the allocator, directly.
valgrind_ours()
{
	awk -v ours='lib(dat2?|daplofi)[.]so' '
	/<error>/ { block = 1; kind = what = where = ""; mine = frames = mine_at = 0 }
	block && /<kind>/ { kind = $0; gsub(/.*<kind>|<\/kind>.*/, "", kind) }
	block && /<frame>/ { frames++; obj = fn = "" }
	block && /<obj>/ { if ($0 ~ ours && !mine_at) mine_at = frames }
	block && /<fn>/ && mine_at == frames && where == "" {
		where = $0; gsub(/.*<fn>|<\/fn>.*/, "", where) }
	/<\/error>/ {
		if (mine_at && (kind !~ /^Leak_/ || mine_at <= 3))
			print kind " in " (where == "" ? "our library" : where)
		block = 0
	}' "$@"
}

# judge_checker NAME: what the checker of this run wrote about our libraries
judge_checker()
{
	local files report
	shopt -s nullglob
	case $CHECKER in
	valgrind)
		files=("$LOGS/$1".*.xml)
		shopt -u nullglob
		[ ${#files[@]} -gt 0 ] || { echo "valgrind wrote no report"; return; }
		report=$(valgrind_ours "${files[@]}" | sort | uniq -c | sort -rn | head -3)
		[ -z "$report" ] || echo "valgrind:" $report ;;
	sanitizer)
		files=("$LOGS/$1".san.*)
		shopt -u nullglob
		[ ${#files[@]} -gt 0 ] || return
		report=$(sanitizer_ours "${files[@]}")
		[ -z "$report" ] || echo "$report" ;;
	*)
		shopt -u nullglob ;;
	esac
}

# A report is a run of non-empty lines; a leak is ours if we called the allocator.
sanitizer_ours()
{
	awk -v ours='lib(dat2?|daplofi)[.]so|/(src|prov_ofi)/' '
	function done() {
		if (mine)
			print head
		mine = 0; head = ""; leak = 0
	}
	/^[[:space:]]*$/ { done(); next }
	/(ERROR|WARNING): |leak of|runtime error/ { if (head == "") head = $0 }
	/leak of/ { leak = 1 }
	/^[[:space:]]*#[0-9]+ / && $0 ~ ours {
		frame = $1; sub(/#/, "", frame)
		if (!leak || frame <= 2) mine = 1
	}
	END { done() }' "$@" | head -3
}
