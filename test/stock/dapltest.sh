# SPDX-License-Identifier: BSD-2-Clause
# Which runs of the stock program dapltest are made, and how is each judged?
#
# A server that ends between two transactions with "malloc(): unsorted double linked list corrupted"
# may be its own fault, over any library: docs/comparison.md.

# dapltest_client NAME LIMIT JUDGE ARGUMENTS...: one client (or stand-alone) run
dapltest_client()
{
	local name=$1 limit=$2 judge=$3 reason
	shift 3
	wanted "$name" || return 0
	run_program "$name" "$limit" dapltest "$@"
	reason=$(status_text "$STATUS" "$LIMIT")
	[ -n "$reason" ] || reason=$($judge "$LOG")
	[ -n "$reason" ] || reason=$(judge_checker "$name")
	if [ -z "$reason" ] && [ -n "$SERVER" ] && ! kill -0 "$SERVER" 2>/dev/null; then
		reason="the server ended meanwhile ($SERVER_LOG)"
	fi
	case $reason in
	'') pass "$name" "$TOOK" ;;
	skip:*) skip "$name" "${reason#skip:}" ;;
	*) fail "$name" "$reason" "$LOG" ;;
	esac
}

# dapltest_server NAME: on ports of its own; a case of its own if it does not come up
dapltest_server()
{
	claim_ports || { fail "$1" "no free range of ports" "-"; return 1; }
	if ! start_server "$1" 900 "$PORT" dapltest -T S -D "$IA" -n "$PORT"; then
		fail "$1" "server: $(status_text $SERVER_STATUS 20) before port $PORT listened" \
			"$SERVER_LOG"
		return 1
	fi
	CLIENT=(-s "$HOST" -D "$IA" -n "$PORT")
}

# Asks the server to quit, and judges both it and its end.
dapltest_quit()
{
	local name=$SERVER_NAME reason= start=$EPOCHREALTIME
	if [ -z "$SERVER" ] || ! kill -0 "$SERVER" 2>/dev/null; then
		fail "$name.quit" "there is no server any more" "$SERVER_LOG"
		return
	fi
	run_program "$name.quit" 20 dapltest -T Q "${CLIENT[@]}"
	reason=$(status_text "$STATUS" "$LIMIT")
	end_server 15 || reason="the server did not end within 15 s"
	[ -n "$reason" ] || reason=$(status_text "$SERVER_STATUS" "$SERVER_LIMIT")
	[ -n "$reason" ] || reason=$(judge_server "$SERVER_LOG")
	[ -n "$reason" ] || reason=$(judge_checker "$name.quit")
	[ -n "$reason" ] || reason=$(judge_checker "$name")
	if [ -n "$reason" ]; then
		fail "$name.quit" "$reason" "$SERVER_LOG"
	else
		pass "$name.quit" "$(since "$start")"
	fi
}

# The libraries that the server has mapped: is it ours, or Debian's, as configured?
dapltest_maps()
{
	local pid want
	pid=$(server_pid)
	for want in "$LIBDAT_USED" "$LIBPROV2"; do
		if ! grep -qF "$(readlink -f "$want")" "/proc/$pid/maps" 2>/dev/null; then
			fail "libraries" "server $pid has not mapped $want" "$SERVER_LOG"
			return
		fi
	done
	pass "libraries" 0.0
}

# ops SIZE SEGMENTS: sends, reads and writes in both directions. dapltest puts the segments of
# a buffer on multiples of 256 bytes but describes the whole as contiguous to its peer: with
# several segments, RDMA can only be validated if their size is such a multiple.
ops()
{
	local who kind size
	for kind in SR RR RW; do
		size=$1
		[ $kind = SR ] || [ "$2" -eq 1 ] || size=$((($1 + 255) / 256 * 256))
		for who in client server; do
			echo "$who $kind $size $2"
		done
	done
}

# transaction NAME OPTIONS OPS
transaction()
{
	dapltest_client "$1" 60 judge_transaction -T T "${CLIENT[@]}" $2 $3
}

transactions_quick()
{
	local sr="client SR 64 1 server SR 64 1"
	transaction T.sr "-t 1 -w 1 -V -i 200" "client SR 4096 2 server SR 4096 2"
	transaction T.rr "-t 1 -w 1 -V -i 200" "client RR 4096 2 server RR 4096 2 $sr"
	transaction T.rw "-t 1 -w 1 -V -i 200" "client RW 4096 2 server RW 4096 2 $sr"
	transaction T.mixed "-t 4 -w 8 -V -i 20" "$(ops 4096 3)"
	transaction T.mixed.poll "-t 2 -w 2 -V -P -i 50" "$(ops 1000 4)"
	transaction T.1M "-t 1 -w 2 -V -i 5" "$(ops 1048576 1)"
}

transactions_full()
{
	local size segments poll n
	local pairs="client SR 1024 3 -f server SR 2048 1 -f"
	for poll in '' -P; do
		for size in 1 7 64 1000 4096 65536 262144; do
			for segments in 1 2 3 4; do
				n=$((size > 4096 ? 4 : 30))
				transaction "T.4x8.$size.x$segments$poll" \
					"-t 4 -w 8 -V $poll -i $n" "$(ops $size $segments)"
			done
		done
		transaction "T.4x8.1M$poll" "-t 4 -w 8 -V $poll -i 3" "$(ops 1048576 1)"
		transaction "T.2x2.1M.x4$poll" "-t 2 -w 2 -V $poll -i 3" "$(ops 1048576 4)"
		transaction "T.reap$poll" "-t 2 -w 4 -V $poll -i 200" \
			"client RW 4096 1 server RW 2048 4 $pairs"
		transaction "T.rsp$poll" "-t 2 -w 4 -r -V $poll -i 100" "$(ops 4096 1)"
		transaction "T.unchecked$poll" "-t 4 -w 8 $poll -i 200" "$(ops 4096 1)"
	done
	transaction T.best-effort "-R BE -i 50" "client SR 4096 1 server SR 4096 1"
}

# performance NAME OPTIONS OP
performance()
{
	dapltest_client "$1" 60 judge_performance -T P "${CLIENT[@]}" $2 $3
}

performance_quick()
{
	performance P.rw "-m b -i 1000" "RW 4096 1"
	performance P.rr "-m b -i 1000" "RR 4096 1"
	performance P.rw.poll "-m p -i 1000 -p 8" "RW 64 2"
	performance P.rr.poll "-m p -i 1000 -p 8" "RR 64 2"
}

performance_full()
{
	local mode op size pipe
	for mode in b p; do
		for op in RW RR; do
			for size in 1 64 4096 65536 1048576; do
				for pipe in 1 8 64; do
					performance "P.$op.$size.$mode.p$pipe" "-m $mode -p $pipe \
						-i $((size > 65536 ? 100 : 1000))" "$op $size 1"
				done
			done
			performance "P.$op.4096.x4.$mode" "-m $mode -i 1000" "$op 4096 4"
		done
	done
}

LIMITS="ia pz cno evd ep rsp psp lmr rpost size_lmr"

# limits MAXIMUM WIDTH: each test alone, then all in one process
limits()
{
	local test ALONE=()
	LIMIT_MAXIMUM=$1
	# Its service points are where the kernel takes clients' ports from.
	all_ports_free
	claim_ports || return
	set -- -T L -D "$IA" -n "$PORT" -m "$1" -w "$2"
	for test in $LIMITS; do
		dapltest_client "L.$test" 120 judge_limit "$@" "limit_$test"
	done
	dapltest_client L.all 300 judge_limits "$@"
}

# feature:number of its last case
FUNCTIONAL="hwconn:3 endpoint:2 pz:2 mem:4 connmgt:1 queryinfo:17"

functionals()
{
	local feature last number
	claim_ports || return
	for feature in $FUNCTIONAL; do
		last=${feature#*:} feature=${feature%:*}
		for ((number = 0; number <= last; number++)); do
			functional "F.$feature.$number" "$feature" "case$number"
		done
	done
}

# Every case of a feature in one process: leftovers of one case must not affect the next.
functionals_together()
{
	local feature last number cases
	claim_ports || return
	for feature in $FUNCTIONAL; do
		last=${feature#*:} feature=${feature%:*} cases=
		for ((number = 0; number <= last; number++)); do
			case $feature$number in
			queryinfo5 | queryinfo9) ;; # alone they are skipped
			*) cases+=" case$number" ;;
			esac
		done
		functional "F.$feature.all" "$feature" "$cases"
	done
}

# functional NAME FEATURE CASES
functional()
{
	case $LIBDAT_KIND.$1 in
	debian.F.queryinfo.13 | debian.F.queryinfo.15 | debian.F.queryinfo.all)
		skip "$1" "Debian's libdat2 itself crashes on the bogus handle"
		return ;;
	esac
	dapltest_client "$1" 30 judge_functional -T F -D "$IA" -n "$PORT" -s "$HOST" -f "$2" $3
}
