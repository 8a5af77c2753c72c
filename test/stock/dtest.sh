# SPDX-License-Identifier: BSD-2-Clause
# Which runs of the stock programs dtest, dtestcm, dtestsrq and dtestx are made?

# Both exchange addresses over this TCP port, and nothing changes it.
SIDE_PORT=15828
# The service point of dtest, and that of dtestcm unless -p is given. It lies where the
# kernel takes ports for clients from, so that any process may have it for a while.
QUALIFIER=45248

# The output of a client after which it is run again, if any.
AGAIN=

# pair NAME LIMIT JUDGE PROGRAM SERVER_OPTIONS CLIENT_OPTIONS: server and client. 75, and no
# verdict, if the client printed AGAIN.
pair()
{
	wanted "$1" || return 0
	with_lock dtest locked_pair "$@"
}

locked_pair()
{
	local name=$1 limit=$2 judge=$3 program=$4 start=$EPOCHREALTIME reason=
	if ! can_listen_soon "$SIDE_PORT" || ! can_listen_soon "$QUALIFIER"; then
		skip "$name" "another process uses port $SIDE_PORT or $QUALIFIER"
		return
	fi
	if ! start_server "$name.server" "$((limit + 20))" "${READY_PORT:-$SIDE_PORT}" "$program" \
		$5; then
		fail "$name" "server: $(status_text $SERVER_STATUS 20)" "$SERVER_LOG"
		return
	fi
	run_program "$name" "$limit" "$program" $6
	if [ -n "$AGAIN" ] && grep -qaF "$AGAIN" "$LOG"; then
		end_server 0
		return 75
	fi
	reason=$(status_text "$STATUS" "$LIMIT")
	[ -n "$reason" ] || reason=$($judge "$LOG")
	[ -n "$reason" ] || reason=$(judge_checker "$name")
	if [ -n "$reason" ]; then
		end_server 3
		fail "$name" "client: $reason" "$LOG"
		return
	fi
	end_server 15 || reason="still there 15 s after its client"
	[ -n "$reason" ] || reason=$(status_text "$SERVER_STATUS" "$SERVER_LIMIT")
	[ -n "$reason" ] || reason=$($judge "$SERVER_LOG")
	[ -n "$reason" ] || reason=$(judge_checker "$name.server")
	if [ -n "$reason" ]; then
		fail "$name" "server: $reason" "$SERVER_LOG"
	else
		pass "$name" "$(since "$start")"
	fi
}

# can_listen PORT: tried out, for a client's port of before may linger there in TIME_WAIT
can_listen()
{
	perl -MSocket -e '
		socket(my $s, PF_INET, SOCK_STREAM, 0) or exit 1;
		setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1);
		exit !(bind($s, sockaddr_in($ARGV[0], INADDR_ANY)) && listen($s, 1));' "$1"
}

# can_listen_soon PORT: waits for the end of a TIME_WAIT
can_listen_soon()
{
	local try
	for ((try = 0; try < 450; try++)); do
		! can_listen "$1" || return 0
		sleep 0.2
	done
	return 1
}

# dtest_run NAME OPTIONS: the same options on both sides
dtest_run()
{
	pair "$1" 150 judge_dtest dtest "-P $IA -s $2" "-P $IA -h $HOST $2"
}

dtest_quick()
{
	dtest_run dtest.small "-b 4096 -B 100"
	dtest_run dtest.poll "-p -b 4096 -B 100"
	dtest_run dtest.writes "-w -b 65536 -B 100"
	dtest_run dtest.pingpong "-W -D -b 4096 -B 100"
}

dtest_full()
{
	local poll
	dtest_quick
	for poll in '' -p; do
		dtest_run "dtest.default$poll" "$poll"
		dtest_run "dtest.verbose$poll" "-v $poll -b 4096 -B 20"
		dtest_run "dtest.times$poll" "-t $poll -b 65536 -B 100"
		dtest_run "dtest.cno$poll" "-c $poll -b 4096 -B 100"
		dtest_run "dtest.writes.one-way$poll" "-w -u $poll -b 65536 -B 100"
		dtest_run "dtest.writes$poll" "-w $poll -b 1048576 -B 100"
		dtest_run "dtest.one-way$poll" "-u $poll -b 4096 -B 100"
		dtest_run "dtest.pingpong$poll" "-W $poll -b 4096 -B 100"
		dtest_run "dtest.pingpong.data$poll" "-W -D $poll -b 4096 -B 100"
		dtest_run "dtest.sizes$poll" "-W -a $poll -b 1048576 -B 100"
		dtest_run "dtest.sizes.step$poll" "-W -a -i 512 $poll -b 4096 -B 100"
		dtest_run "dtest.signal-1$poll" "-S 1 -w $poll -b 4096 -B 100"
		dtest_run "dtest.signal-50$poll" "-S 50 -w $poll -b 4096 -B 100"
	done
	dtest_run dtest.delay "-d 1 -b 4096 -B 10"
}

# dtestcm_run NAME OPTIONS
dtestcm_run()
{
	claim_ports || return
	set -- "$1" "-p $PORT $2"
	pair "$1" 120 judge_dtestcm dtestcm "-P $IA -s $2" "-P $IA -h $HOST $2"
}

dtestcm_quick()
{
	dtestcm_run dtestcm.100 "-c 100"
}

dtestcm_full()
{
	dtestcm_quick
	dtestcm_run dtestcm.default ""
	dtestcm_run dtestcm.wait "-w -c 200"
	dtestcm_run dtestcm.verbose "-v -c 20"
	dtestcm_run dtestcm.burst-10 "-b 10 -c 100"
	dtestcm_run dtestcm.many-listeners "-m -b 20 -c 100"
	pair dtestcm.default-port 120 judge_dtestcm dtestcm "-P $IA -s -c 100" \
		"-P $IA -h $HOST -c 100"
	dtestcm_run dtestcm.delay "-d 1 -c 10"
}

# dtestsrq_run NAME OPTIONS: the same options on both sides
dtestsrq_run()
{
	claim_ports || return
	set -- "$1" "-p $PORT $2"
	# It has no port besides its service point.
	READY_PORT=$PORT pair "$1" 60 judge_dtestsrq dtestsrq "-P $IA -s $2" "-P $IA -h $HOST $2"
}

dtestsrq_quick()
{
	dtestsrq_run dtestsrq.1 "-c 1"
	dtestsrq_run dtestsrq.10 "-c 10 -B 20 -v"
	dtestsrq_run dtestsrq.100 "-c 100 -B 10"
}

dtestsrq_full()
{
	local n
	dtestsrq_quick
	for n in 2 5 20 50 75; do
		dtestsrq_run "dtestsrq.$n" "-c $n -B 50 -t 5"
	done
	dtestsrq_run dtestsrq.small "-c 10 -B 100 -b 4096"
	dtestsrq_run dtestsrq.unshared "-c 10 -B 10 -S 0"
}

# The server sends its address to the client before it listens: a fast client is rejected
# (DAT_CONNECTION_EVENT_NON_PEER_REJECTED).
dtestx_run()
{
	local try
	for ((try = 0; try < 6; try++)); do
		[ $try -eq 5 ] || AGAIN='!conn established: 0x4003'
		pair dtestx 60 judge_dtestx dtestx "-P $IA -s" "-P $IA -h $HOST"
		[ $? -eq 75 ] || break
		AGAIN=
	done
	AGAIN=
}

# Datagrams: both sides have 4 endpoints, then 8, then several at the server only.
dtestx_ud()
{
	local run
	for run in 'ud ' 'ud-8 -U 8' 'ud-servers -m'; do
		pair "dtestx.${run%% *}" 60 judge_dtestx_ud dtestx "-P $IA -u -s ${run#* }" \
			"-P $IA -u -c -h $HOST ${run#* }"
	done
}

# Without -P they take adapter names of hardware long gone: libdat answers those too.
default_names()
{
	pair dtest.default-name 60 judge_dtest dtest "-s -b 4096 -B 100" \
		"-h $HOST -b 4096 -B 100"
	pair dtestcm.default-name 60 judge_dtestcm dtestcm "-s -c 20" "-h $HOST -c 20"
}
