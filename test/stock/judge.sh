# SPDX-License-Identifier: BSD-2-Clause
# Did a stock program succeed, by its words, and did a checker see our code do wrong?
#
# dapltest always exits with 0, dtest nearly always: their output decides. Each
# judge prints one reason, or nothing when all is well.

# Logs begin with a line "$ command", which is no output. "open_hca:" comes from Debian's
# providers, tried for a legacy name because /etc/dat.conf lists them, before ours answers.
# first_line FILE PATTERN: the first line that matches, trimmed
first_line()
{
	grep -avE '^\$ |open_hca:' "$1" | grep -m1 -aE -e "$2" |
		sed 's/^[[:space:]]*//; s/[[:space:]]*$//' | cut -c1-150
}

# said FILE PATTERN PROOF: reports a line that matches PATTERN, or a missing PROOF
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
DAPLTEST_BAD+='|Could not open|[Nn]o [Mm]emory|^USAGE|Internal Error|Unknown TestType'
DAPLTEST_BAD+='|error: |error\[|sync (send|recv) error|bogus|swallowing|destroy fails'
DAPLTEST_BAD+='|did not report'

# A run too short for its clock "cannot calculate stats", and is a success.
DAPLTEST_BAD_CALL='cannot ([^c]|c[^a])'

judge_transaction()
{
	said "$1" "$DAPLTEST_BAD|$DAPLTEST_BAD_CALL|error|fail" 'Stats ----|enough time has lapsed'
}

judge_performance()
{
	said "$1" "$DAPLTEST_BAD|$DAPLTEST_BAD_CALL|error|fail" 'Operation Throughput'
}

# "Result: PASS" follows even after a failed assertion, which reads "... failed in file ...";
# of its descriptions some contain "fails", and one case opens unknown names.
judge_functional()
{
	if grep -qa 'Result: UNSUPP' "$1"; then
		echo "skip:dapltest itself has nothing behind this case"
	else
		said "$1" "$DAPLTEST_BAD|failed in file|^Error = |fff |don't know" \
			'Result: +PASS'
	fi
}

# A limit test runs until it fails: it must get as far as its -m says, LIMIT_MAXIMUM here.
judge_limit()
{
	local good="LimitTest: [A-Za-z]+ (created|opened): $LIMIT_MAXIMUM\$"
	good+='|^LimitTest: recv buffers posted per EP: [1-9]|LMR of 0x[0-9a-f]{6,} bytes OK'
	said "$1" \
		"Could not open|can not continue|with errors|_free.* fails|Mismatch|bogus|^USAGE" \
		"$good"
}

judge_limits()
{
	local reason what
	for what in IAs PZs CNOs EVDs EPs RSPs PSPs LMRs; do
		reason=$(said "$1" \
			"Could not open|can not continue|with errors|Mismatch|bogus|^USAGE" \
			"LimitTest: $what (created|opened): $LIMIT_MAXIMUM\$")
		[ -z "$reason" ] || break
	done
	echo "$reason"
}

judge_server()
{
	said "$1" "$DAPLTEST_BAD|$DAPLTEST_BAD_CALL" 'DT_cs_Server .*Exiting'
}

# The CNO serves two EVDs, and dtest warns when the one that it does not wait for is first.
judge_dtest()
{
	said "$1" 'FAILED|ERR|Error|unexpected|WARNING: ([^C]|C[^N])' 'DAPL Test Complete. PASSED'
}

judge_dtestcm()
{
	said "$1" 'FAILED|ERR|Error|unexpected|invalid EP' 'DAPL Connection Test Complete'
}

# Extensions that the adapter does not claim are skipped by the program, which reports it.
judge_dtestx()
{
	local part
	for part in RDMA_WRITE_WITH_IMMEDIATE_DATA CMP_SWAP FETCH_ADD; do
		[ -n "$ATOMICS" ] || [ $part = RDMA_WRITE_WITH_IMMEDIATE_DATA ] || break
		if ! grep -qa "$part test - PASSED" "$1"; then
			echo "$part did not pass"
			return
		fi
	done
	said "$1" 'FAILED|ERROR|unexpected| returned DAT_' 'IB extension test - .*PASSED'
}

judge_dtestx_ud()
{
	said "$1" 'FAILED|ERROR|unexpected|wrong UD| returned DAT_' 'UD test PASSED'
}

judge_dtestsrq()
{
	said "$1" 'FAILED|ERR|Error|unexpected|WARNING|[Ff]ailure|[Tt]imeout' \
		'DAPL RC (none )?SRQ Test Complete'
}

# ---------------------------------------------------------------- memory checkers

# Errors with a frame of ours; leaks only when we are who called the allocator, directly;
# uninitialised bytes given to the kernel only when they were created by us: valgrind's last
# stack shows that, after the one that shows who allocated the memory in which they lie now. (The
# program's own payload, padding included, is sent out of our buffers.)
valgrind_ours()
{
	awk -v ours='lib(dat2?|daplofi)[.]so' '
	/<error>/ { block = 1; kind = what = where = ""; mine = frames = mine_at = 0 }
	block && /<kind>/ { kind = $0; gsub(/.*<kind>|<\/kind>.*/, "", kind) }
	block && /<auxwhat>/ && kind == "SyscallParam" { mine_at = frames = 0; where = "" }
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

# judge_checker NAME: the reports of the checker of this run about our libraries
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
	awk -v ours='lib(dat2?|daplofi)[.]so|[ /](src|prov_ofi)/[a-z0-9_/]*[.]c:' '
	function done() {
		if (mine)
			print head
		mine = 0; head = ""; leak = 0
	}
	/^[[:space:]]*$/ { done(); next }
	/(ERROR|WARNING): |leak of|runtime error/ { if (head == "") head = $0 }
	/runtime error/ && (" " $0) ~ ours { mine = 1 }
	/leak of/ { leak = 1 }
	/^[[:space:]]*#[0-9]+ / && $0 ~ ours {
		frame = $1; sub(/#/, "", frame)
		if (!leak || frame <= 2) mine = 1
	}
	END { done() }' "$@" | head -3
}
