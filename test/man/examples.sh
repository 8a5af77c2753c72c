#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the examples run, as server and clients over loopback, over each fabric that opens here?
# Run from the top of a build tree; TEST_LIMIT: seconds for each program.
set -u
. "${srcdir:-.}/test/man/lib.sh"
limit=${TEST_LIMIT:-120}

# start PROGRAM [OPTIONS]: a server; where it listens is in $where. 1: it ended before
start()
{
	# Emptied here, not by the background job: nothing of the last server may be read.
	: >"$dir/server"
	: >"$dir/server.err"
	: >"$dir/client"
	: >"$dir/client.err"
	timeout -k 5 "$limit" "examples/$1" $2 >>"$dir/server" 2>>"$dir/server.err" &
	server=$!
	where=
	while [ -z "$where" ] && kill -0 "$server" 2>/dev/null; do
		where=$(sed -n 's/^listening on //p' "$dir/server")
		[ -n "$where" ] || sleep 0.05
	done
	where=$(sed -n 's/^listening on //p' "$dir/server")
	[ -n "$where" ]
}

# client PROGRAM [OPTIONS]
client()
{
	timeout -k 5 "$limit" "examples/$1" ${2:-} $where >>"$dir/client" 2>>"$dir/client.err"
}

# collect CLIENTS' STATUS, SERVER WORDS, CLIENT WORDS
collect()
{
	wait "$server"
	status=$?
	{
		echo "clients: exit status $1, server: $status"
		cat "$dir/server" "$dir/server.err" "$dir/client" "$dir/client.err"
	} >"$dir/log"
	[ "$1" -eq 0 ] && [ "$status" -eq 0 ] && grep -q "$2" "$dir/server" &&
		grep -q "$3" "$dir/client"
}

# pair NAME SERVER SERVER_OPTIONS CLIENT CLIENT_OPTIONS SERVER_WORDS CLIENT_WORDS
pair()
{
	start "$2" "$3" && client "$4" "$5"
	collect $? "$6" "$7"
	verdict $? "$1"
}

# crowd NAME PROGRAM: three clients at once
crowd()
{
	if ! start "$2" '-n 3'; then
		wait "$server"
		if [ $? -eq 77 ]; then
			skip "$1" "$(head -n 1 "$dir/server.err")"
		else
			cat "$dir/server" "$dir/server.err" >"$dir/log"
			verdict 1 "$1"
		fi
		return
	fi
	client "$2" '-n 20' &
	first=$!
	client "$2" '-n 20 -s 64' &
	second=$!
	client "$2" '-n 20 -s 4'
	status=$?
	wait $first || status=1
	wait $second || status=1
	collect $status '^3 clients have come and gone$' '^20 messages of 256 bytes came back$'
	verdict $? "$1"
}

examples()
{
	pair "hello$over" hello_server '' hello_client '' 'received "hello, server"' \
		'received "hello, client"'
	pair "ping-pong$over" pingpong '-n 100' pingpong '-n 100' '^100 round trips of 64 bytes' \
		'^100 round trips of 64 bytes'
	pair "ping-pong, large messages$over" pingpong '-n 10 -s 1000000' \
		pingpong '-n 10 -s 1000000' '^10 round trips' '^10 round trips'
	pair "RDMA write and polled memory$over" rdma_write '-n 50' rdma_write '-n 50' \
		'^50 rounds of 4096 bytes' '^50 rounds of 4096 bytes'
	crowd "event loop with a descriptor$over" event_loop
	crowd "shared receive queue$over" srq_server

	# A program that is terminated by a signal exits cleanly.
	start event_loop '-n 1' && kill -TERM "$(ps -o pid= --ppid "$server" | head -n 1)"
	wait "$server"
	status=$?
	{ echo "exit status $status"; cat "$dir/server" "$dir/server.err"; } >"$dir/log"
	[ $status -eq 0 ] && grep -q '^0 clients have come and gone$' "$dir/server"
	verdict $? "event loop ended by a signal$over"

	# Without a listener the client reports it.
	start hello_server '' && kill "$server"
	wait "$server"
	[ -n "$where" ] && client hello_client
	status=$?
	{ echo "exit status $status"; cat "$dir/client.err"; } >"$dir/log"
	[ $status -eq 1 ] && grep -q 'event 0x4003 was not expected' "$dir/client.err"
	verdict $? "a client without server fails$over"
}

fabrics='tcp tcp+shm shm rxm rxm+shm constrained verbs'
# Under a sanitizer everything takes several times as long.
! head -n 20 config.log | grep -q -e --enable-asan -e --enable-tsan || fabrics='tcp shm'
for fabric in $fabrics; do
	over=", $fabric"
	only_over $fabric
	if start hello_server ''; then
		kill "$server"
		wait "$server"
		examples
		continue
	fi
	wait "$server"
	cat "$dir/server.err" >"$dir/log"
	case $fabric in
	verbs) skip "examples$over" "$(sed -n 's/^ *provider: //p' "$dir/log" | head -n 1)" ;;
	*) verdict 1 "examples$over" ;;
	esac
done

finish
