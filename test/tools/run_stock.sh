# SPDX-License-Identifier: BSD-2-Clause
# Does dat_run judge Debian's unmodified programs rightly? (sourced by test/tools/run)

# stock NAME PROGRAM: may the case run?
stock()
{
	case_begin "$1" || return
	if ! command -v "$2" >/dev/null; then
		case_skip "$2 is not installed"
		return 1
	fi
	# A sanitized library needs its run-time in the program, which knows nothing of it.
	PRELOAD=
	[ -z "$SANITIZER" ] || PRELOAD="env LD_PRELOAD=$(gcc -print-file-name="lib$SANITIZER.so") \
		TSAN_OPTIONS=suppressions=$HERE/../stock/tsan.supp:exitcode=0"
	claim_ports || { problem "no free ports"; case_end; return 1; }
}

# stock_pair PROGRAM SERVER_OPTIONS CLIENT_OPTIONS DAT_RUN_OPTIONS...: server and client that
# exchange addresses over a port that nothing changes
stock_pair()
{
	local fd fabric program=$1 server=$2 client=$3
	shift 3
	exec {fd}>"$LOCK_DIR/dtest"
	for fabric in tcp 'b=provider=tcp domain=lo' shm rxm tcp+shm; do
		[ -n "$PROBLEM" ] || stock_pair_over "$@"
	done
	exec {fd}>&-
	case $PROBLEM in
	'another process'*) case_skip "$PROBLEM" ;;
	*) case_end ;;
	esac
}

# The service point of dtest is where the kernel takes clients' ports from: it may be in use by
# the time that the server asks for it.
stock_pair_over()
{
	local try
	for ((try = 0; try < 5; try++)); do
		PROBLEM=
		if ! flock -w 300 "$fd" || ! can_listen_soon "$SIDE_PORT" ||
			! can_listen_soon "$QUALIFIER"; then
			PROBLEM="another process uses port $SIDE_PORT or $QUALIFIER"
			return
		fi
		run 0 -f "$fabric" --limit 100 --port "$SIDE_PORT" --server-quits \
			--server "$PRELOAD $program -P any-name -s $server" "$@" -- \
			$PRELOAD $program -P other -h 127.0.0.1 $client
		grep -q 'DAT_CONN_QUAL_IN_USE' "$DIR/out" || break
		rm -rf "$TMPDIR"/*
		PROBLEM="another process uses port $QUALIFIER"
	done
	[ -n "$PROBLEM" ] || says '^1 passed, 0 failed, 0 skipped$'
}

group_stock()
{
	local ops='client SR 4096 1 server SR 4096 1' server
	SANITIZER=
	lock_folder
	stock_locate >/dev/null || return
	if stock 'stock: our libraries are used' dtest; then
		run 0 -f tcp --expect "libdat2.so.2 => $BUILD/.libs/libdat2.so.2 " -- \
			ldd "$(command -v dtest)"
		case_end
	fi
	if stock 'stock: dapltest' dapltest; then
		server="$PRELOAD dapltest -T S -D server-name -n $PORT"
		run 0 "${TWO[@]}" --limit 100 --server "$server" --expect 'Stats ----' \
			--reject "$DAPLTEST_BAD|error|fail" --server-reject "$DAPLTEST_BAD" -- \
			$PRELOAD dapltest -T T -s 127.0.0.1 -D client-name -n "$PORT" -V -t 1 -w 2 \
			-i 20 $ops
		says '^2 passed, 0 failed, 0 skipped$'
		case_end
	fi
	if stock 'stock: dapltest, fabrics of one host too' dapltest; then
		run 0 -f tcp,shm,rxm,tcp+shm --limit 100 --port "$PORT" \
			--server "$PRELOAD dapltest -T S -D server-name -n $PORT" \
			--expect 'Stats ----' --reject "$DAPLTEST_BAD|error|fail" -- \
			$PRELOAD dapltest -T T -s 127.0.0.1 -D client-name -n "$PORT" -V -t 1 -w 2 \
			-i 20 $ops
		says '^4 passed, 0 failed, 0 skipped$'
		case_end
	fi
	if stock 'stock: dapltest finds no server' dapltest; then
		run 1 -f tcp --limit 100 --expect 'Stats ----' --reject "$DAPLTEST_BAD" -- \
			$PRELOAD dapltest -T T -s 127.0.0.1 -D x -n "$PORT" $ops
		says '^0 passed, 1 failed'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if stock 'stock: dtest' dtest; then
		stock_pair dtest "-b 4096 -B 20" "-b 4096 -B 20" --expect 'Complete. PASSED' \
			--reject 'FAILED|ERR|Error|unexpected' --server-expect 'Complete. PASSED'
	fi
	if stock 'stock: dtestcm' dtestcm; then
		stock_pair dtestcm "-p $PORT -c 20" "-p $PORT -c 20" \
			--expect 'DAPL Connection Test Complete' \
			--reject 'FAILED|ERR|Error|unexpected'
	fi
}
