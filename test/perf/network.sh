#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do client and server find each other, agree, measure, and notice when the other one dies?
# Run from the top of a build tree.
set -u
here=$(dirname "$0")
. "$here/lib.sh"

start_server --ia ofi-tcp
verdict 'a server starts' $?
measures 'client and server, all patterns' 3 'dat raw' 127.0.0.1 --port "$port" --raw \
	--op send,write,read --test all --validate
measures 'client and server, immediate data' 1 'dat raw' 127.0.0.1 --port "$port" --raw --op immed \
	--test all --validate
measures 'several endpoints and sizes' 3 'dat' localhost --port "$port" --eps 3 --size 1,64,10K
measures 'raw alone' 1 raw 127.0.0.1 --port "$port" --raw-only
quick 127.0.0.1 --port "$port" --mode all --op all --test all && grep -q '^  tcp ' "$dir/out"
verdict 'all modes' $?

# Foreign clients are rejected, and the server continues.
stranger() { # NAME TEXT WORDS
	python3 - "$port" "$2" >"$dir/answer" 2>"$dir/err" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
s.settimeout(20)
s.sendall(sys.argv[2].encode().decode("unicode_escape").encode("latin-1"))
s.shutdown(socket.SHUT_WR)
sys.stdout.write(s.recv(1000).decode("latin-1"))
END
	grep -q "$3" "$dir/answer"
	verdict "$1" $?
}
if command -v python3 >/dev/null 2>&1; then
	stranger 'another version is refused' 'dat_perf protocol 0\nfabric=tcp\n\n' 'protocol 4'
	stranger 'garbage is refused' 'GET / HTTP/1.0\n\n' 'protocol 4'
	stranger 'a number out of range is refused' 'dat_perf protocol 4\neps=100000\n\n' 'eps'
	stranger 'an unknown word is refused' 'dat_perf protocol 4\nrm=1\n\n' 'rm'
	stranger 'a name that could be more is refused' \
		'dat_perf protocol 4\nfabric=tcp" x\n\n' 'fabric'
	stranger 'a plan with gaps is refused' \
		'dat_perf protocol 4\nfabric=tcp\nraw_provider=tcp\nsize=64\n\n' 'incomplete'
	stranger 'a plan that ends early is refused' 'dat_perf protocol 4\nfab' 'no plan'
else
	skip 'strangers' 'no python3'
fi
quick 127.0.0.1 --port "$port"
verdict 'the server is still there' $?
stop_server

# The names of fabrics reach the server.
start_server --domain lo
quick 127.0.0.1 --port "$port" --fabrics tcp --domain lo --raw && grep -q '^  tcp ' "$dir/out"
verdict 'a fabric without a registry entry on either side' $?
quick 127.0.0.1 --port "$port" --fabrics rxm+shm --domain lo --raw --op send,fadd --validate &&
	[ "$(grep -c '^  rxm+shm ' "$dir/out")" = 4 ] && ! grep -q ' - ' "$dir/out"
verdict 'shared memory and network' $?
quick 127.0.0.1 --port "$port" --ia ofi-tcp --raw-provider nope --raw
[ $? = 1 ] && grep -q 'the server refuses: .*nope' "$dir/err"
verdict 'what the server cannot open is reported to the client' $?
stop_server
refuses 'no listener' 1 'no dat_perf --server answers' 127.0.0.1 --port "$port"

start_server --ia ofi-tcp --once
quick 127.0.0.1 --port "$port"
wait "$server"
verdict 'a server for one client ends with success' $?
server=

# One side is killed; the other one has to report it, in time.
lose() { # NAME client|server OPTIONS...
	name=$1 victim=$2
	shift 2
	start_server --ia ofi-tcp --once --timeout 5
	timeout "$limit" "$perf" 127.0.0.1 --port "$port" --iters 100000000 --timeout 5 "$@" \
		>"$dir/out" 2>"$dir/err" &
	client=$!
	if [ "$victim" = server ]; then
		measuring "$client" 1 && measuring "$server" 1 && working $found &&
			kill -KILL $found
	else
		measuring "$server" 1 && measuring "$client" 1 && working $found &&
			kill -KILL $found
	fi
	wait $client
	client_status=$?
	wait "$server"
	server_status=$?
	server=
	cat "$dir/server.err" >>"$dir/err"
	[ $client_status = 1 ] && [ $server_status = 1 ] && ! [ -s "$dir/out" ] &&
		grep -q 'killed by signal 9' "$dir/err" &&
		grep -q '\(dat\|raw\): .*has ended\|gone\|flushed\|canceled\|reset\|connected\|transport\|Broken' "$dir/err"
	verdict "$name" $?
}
lose 'the server is killed while messages flow' server --test bw
lose 'the client is killed while messages flow' client --test bw
lose 'the client is killed while it writes' client --test bw --op write
lose 'the server is killed while it is read from' server --test lat --op read
lose 'the server is killed under the raw twin' server --test lat --raw-only
lose 'the client is killed while both wait' client --test lat --mode wait

# The same on one machine, and one that stops.
lose_child() { # SIGNAL WORDS OPTIONS...
	signal=$1 words=$2
	shift 2
	timeout "$limit" "$perf" --iters 10000000 --timeout 2 "$@" >"$dir/out" 2>"$dir/err" &
	run=$!
	measuring $run 2 && kill -"$signal" ${found##* }
	wait $run
	[ $? = 1 ] && grep -q "$words" "$dir/err"
}
for layer in --raw-only --cq=split; do
	lose_child KILL 'killed by signal 9' --test bw $layer
	verdict "a killed process ends the run ($layer)" $?
	lose_child STOP 'for 2000 ms\|stuck for' --test lat $layer
	verdict "a stopped process ends the run ($layer)" $?
done

finish
