# SPDX-License-Identifier: BSD-2-Clause
# Which promises of dat_run are checked with programs of a line? (sourced by test/tools/run)

# refuses NAME WORDS ARGUMENTS...: wrong usage
refuses()
{
	local name=$1 words=$2
	shift 2
	case_begin "usage: $name" || return
	run 2 "$@"
	complains "$words"
	nothing_kept
	case_end
}

group_usage()
{
	refuses 'no program' 'no program to run' -f tcp
	refuses 'unknown fabric' 'known are tcp, .*NAME=PARAMETERS' -f tcp,nope -- true
	refuses 'fabric twice' 'named twice' -f tcp -f tcp -- true
	refuses 'name of a fabric' 'needs an -f of its own' -f 'tcp,x=provider=tcp' -- true
	refuses 'no folder as name' 'not a name of a fabric' -f '../x=provider=tcp' -- true
	refuses 'empty name' 'is not a name' -f '=provider=tcp' -- true
	refuses 'line feed in parameters' 'control character' -f $'x=a\nb' -- true
	refuses 'bad pattern' '--expect: "\("' --expect '(' -- true
	refuses 'bad number' 'not a number of seconds' --limit 5x -- true
	refuses 'bad repeat' 'not a number from 1' --repeat 0 -- true
	refuses 'server option alone' 'needs --server' --port 5 -- true
	refuses 'two ways to wait' 'exclude' --server x --port 5 --wait-s 1 -- true
	refuses 'unknown option' 'unrecognized option' --no-such-option -- true
	refuses 'no libraries' 'no pair of libdat and libdaplofi in /nonexistent' \
		--libdir /nonexistent -- true
	refuses 'output folder' '--out /nonexistent/x: No such file' --out /nonexistent/x -- true
	if case_begin 'usage: help'; then
		run 0 --help
		output_has '^Usage: dat_run' '--server-quits'
		case_end
	fi
}

group_fabrics()
{
	if case_begin 'fabrics: list'; then
		run 0 -f list
		output_has '^tcp +provider=tcp +yes +TCP sockets' '^shm ' '^verbs '
		nothing_kept
		case_end
	fi
	if case_begin 'fabrics: list of own'; then
		run 0 -f 'mine=provider=nope' -f list
		output_has "^mine +provider=nope +no +fabric 'nope' is not supported"
		case_end
	fi
	if case_begin 'fabrics: all'; then
		run 0 -f all -- true
		output_has '^tcp +pass' '^efa +(pass|skip)' '^[1-9] passed, 0 failed, '
		case_end
	fi
	if case_begin 'fabrics: none there'; then
		run 77 -f 'x=provider=nope' -f 'y=provider=tcp domain=no_such_if' -- true
		output_has "^x +skip .*fabric 'nope' is not supported" \
			"^y +skip .*no interface or address 'no_such_if'" \
			'^0 passed, 0 failed, 2 skipped$'
		nothing_kept
		case_end
	fi
	if case_begin 'fabrics: one there'; then
		run 0 -f 'x=provider=nope' -f tcp -- true
		output_has '^x +skip' '^tcp +pass' '^1 passed, 0 failed, 1 skipped$'
		case_end
	fi
	if case_begin 'fabrics: none may miss'; then
		run 1 --no-skip -f 'x=provider=nope' -f tcp -- true
		output_has "^x +fail .*'nope'" '^1 passed, 1 failed, 0 skipped$'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'fabrics: odd characters in parameters'; then
		run 77 -f 'x=provider="a\b#' -- true
		output_has "^x +skip .*fabric '\"a.b#' is not supported"
		case_end
	fi
}

group_outcomes()
{
	if case_begin 'outcome: pass'; then
		run 0 -f tcp -- sh -c 'echo fine'
		output_has '^tcp +pass +[0-9.]+ s$' '^1 passed, 0 failed, 0 skipped$'
		! grep -q fine "$DIR/out" || problem "output of a passed run is shown"
		nothing_kept
		case_end
	fi
	if case_begin 'outcome: shown'; then
		run 0 -f tcp --show -- sh -c 'echo $DAT_RUN_FABRIC; echo to stderr >&2'
		output_has '\| tcp$' '\| to stderr$'
		case_end
	fi
	if case_begin 'outcome: fail'; then
		run 1 "${TWO[@]}" -- sh -c '[ $DAT_RUN_FABRIC = a ] || { seq 30; exit 3; }'
		output_has '^a +pass' '^b +fail .* exit status 3$' '\| 30$' '^1 passed, 1 failed'
		! grep -q '| 20$' "$DIR/out" || problem "more than the end is shown"
		kept b/client.log '^1$'
		case_end
	fi
	if case_begin 'outcome: crash'; then
		run 1 -f tcp -- sh -c 'echo before; kill -SEGV $$'
		output_has '^tcp +fail .* killed by SIGSEGV \(signal 11\)' '\| before$'
		kept tcp/client.log before
		case_end
	fi
	if case_begin 'outcome: the program skips'; then
		run 77 -f tcp -- sh -c 'exit 77'
		output_has '^tcp +skip .*exit status 77' '^0 passed, 0 failed, 1 skipped$'
		case_end
	fi
	if case_begin 'outcome: no such program'; then
		run 1 -f tcp -- /nonexistent/program
		output_has 'cannot run /nonexistent/program: No such file'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'outcome: expected words'; then
		run 0 -f tcp --expect 'all [a-z]+$' --expect two -- \
			printf 'is all well\nwell, two\n'
		run 1 -f tcp --expect fine --expect other -- echo fine
		output_has 'has no line with /other/'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'outcome: unwanted words'; then
		run 0 -f tcp --reject 'error' -- echo fine
		run 1 -f tcp --expect fine --reject '[Ee]rror' -- printf 'fine\n\tan Error of 5\n'
		output_has 'its output has "an Error of 5"'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'outcome: repeated'; then
		run 1 --repeat 3 "${TWO[@]}" -- sh -c "echo x >>$DIR/count; \
			test \$(wc -l <$DIR/count) != 5"
		output_has '^a\.1 +pass' '^a\.3 +pass' '^b\.1 +pass' '^b\.2 +fail' '^b\.3 +pass' \
			'^5 passed, 1 failed, 0 skipped$'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'outcome: output folder'; then
		cd "$DIR"
		run 0 -f tcp --server "echo old; sleep $MARK" --ready old --out kept -- \
			sh -c 'cd /; echo first'
		cd "$BUILD"
		grep -qx first "$DIR/kept/tcp/client.log" || problem "no first output in the folder"
		grep -qx old "$DIR/kept/tcp/server.log" || problem "no server's output there"
		run 0 -f tcp --out "$DIR/kept" -- echo here
		[ ! -e "$DIR/kept/tcp/server.log" ] || problem "an earlier output stays"
		output_has "^output: $DIR/kept\$"
		grep -qx here "$DIR/kept/tcp/client.log" || problem "no output in the folder"
		grep -q '^\* u2.0 ' "$DIR/kept/tcp/dat.conf" || problem "no dat.conf there"
		nothing_kept
		case_end
	fi
}

group_limits()
{
	if case_begin 'limit: a hanging tree'; then
		run 1 -f tcp --limit 2 -- sh -c "sleep $MARK & setsid sleep $MARK & echo on; wait"
		output_has 'still running after 2 s: killed \(3 processes\)' '\| on$'
		gone
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'limit: what ignores signals'; then
		run 1 -f tcp --limit 1 -- sh -c "trap '' TERM INT HUP; sleep $MARK; sleep $MARK"
		output_has 'still running after 1 s: killed'
		gone
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'limit: of both sides'; then
		run 1 -f tcp --limit 2 --server "sleep $MARK" --wait-s 0 -- sleep $MARK
		output_has 'still running after 2 s: killed \(2 processes\)'
		gone
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'limit: what a passed program leaves'; then
		run 0 -f tcp -- sh -c "setsid sleep $MARK & exit 0"
		gone
		case_end
	fi
	if case_begin 'limit: interrupted'; then
		"$RUN" -f tcp -- sh -c "echo >$DIR/runs; exec sleep $MARK" \
			>"$DIR/out" 2>"$DIR/err" &
		local pid=$! try
		for ((try = 0; try < 600 && try >= 0; try++)); do
			[ ! -e "$DIR/runs" ] || break
			sleep 0.1
		done
		kill -TERM $pid
		wait $pid
		[ $? = 143 ] || problem "exit status is not 143"
		output_has '^tcp +fail .*interrupted by SIGTERM'
		gone
		nothing_kept
		case_end
	fi
}

# opens VERSION ARGUMENTS...: the DAT program of that API version
opens()
{
	local program=$BUILD/test/tools/opens$1
	shift
	run 0 "$@" -- "$program" ofi ofi-tcp ofi-shm 'what ever' x ib0 ofa-v2-mlx4_0-1 OpenIB-cma \
		'*'
}

group_names()
{
	local version
	for version in 1 2; do
		if case_begin "names: any, API $version"; then
			opens $version -f tcp --show
			output_has '\| what ever: IPv4$' '\| ofa-v2-mlx4_0-1: IPv4$' \
				'\| listed: ofa-v2-lo$'
			! grep -q 'listed: \*' "$DIR/out" || problem "the catch-all is listed"
			case_end
		fi
		if case_begin "names: to the requested fabric, API $version"; then
			opens $version -f 'six=provider=tcp domain=::1' --show --reject IPv4
			if grep -q 'six *skip' "$DIR/out"; then
				case_skip 'no IPv6 here'
			else
				case_end
			fi
		fi
		if case_begin "names: regardless of the environment, API $version"; then
			export DAPL_OFI_PROVIDER=nope DAPL_OFI_DOMAIN=nope DAT_OVERRIDE=/nonexistent
			opens $version -f tcp
			unset DAPL_OFI_PROVIDER DAPL_OFI_DOMAIN DAT_OVERRIDE
			case_end
		fi
	done
}

group_servers()
{
	local crash='killed by SIGSEGV|exit status 139, as after SIGSEGV'
	if case_begin 'server: listens, serves, is ended' && two_sided - 0 \
		'my $s = listen_on(PORT); print "up\n"; answer($s) while 1;' 'ask(PORT);' \
		--expect hello --server-expect up; then
		output_has '^tcp +pass'
		case_end
	fi
	if case_begin 'server: quits' && two_sided - 0 \
		'answer(listen_on(PORT));' 'ask(PORT);' --server-quits --expect hello; then
		case_end
	fi
	if case_begin 'server: does not quit' && two_sided - 1 \
		'my $s = listen_on(PORT); answer($s) while 1;' 'ask(PORT);' \
		--server-quits --grace 1; then
		output_has 'server: still running 1 s after its client'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: quits with an error' && two_sided - 1 \
		'answer(listen_on(PORT)); print "sorry\n"; exit 4;' 'ask(PORT);' \
		--server-quits; then
		output_has 'server: exit status 4'
		kept tcp/server.log sorry
		case_end
	fi
	if case_begin 'server: crashes while it serves' && two_sided - 1 \
		'accept(my $c, listen_on(PORT)); print "ow\n"; kill 11, $$; sleep 9;' \
		'eval { ask(PORT) }; sleep 98765;'; then
		output_has "server: ($crash)" '\| ow$'
		kept tcp/server.log ow
		case_end
	fi
	if case_begin 'server: crashes, the client fails of it' && two_sided - 1 \
		'accept(my $c, listen_on(PORT)); kill 11, $$; sleep 9;' \
		'eval { ask(PORT) }; exit 1;'; then
		output_has "server: ($crash)"
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: crashes before it listens' && two_sided - 1 'kill 11, $$; sleep 9;' \
		'print "client\n";'; then
		output_has "server: ($crash)"
		! grep -q client "$DIR/out" || problem "the client was started"
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: ends before it listens' && two_sided - 1 'exit 0;' 'ask(PORT);'; then
		output_has 'server: ended before its client was started'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: never listens' && two_sided - 1 'print "well\n"; sleep 98765;' \
		'ask(PORT);' --ready-limit 1; then
		output_has 'did not listen on any port within 1 s' '\| well$'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: never says it' && two_sided - 1 'print "read"; sleep 98765;' \
		'ask(PORT);' --ready-limit 1 --ready ready; then
		output_has 'did not print "ready" within 1 s'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: says it is ready' && two_sided - 0 \
		'print "rea"; select(undef, undef, undef, 0.4); my $s = listen_on(PORT);
		print "dy to serve"; answer($s) while 1;' 'ask(PORT);' --ready 'ready to'; then
		case_end
	fi
	if case_begin 'server: a certain port' && two_sided - 0 \
		'my $s = listen_on(PORT); sleep 2; $s = listen_on(OTHER); answer($s) while 1;' \
		'ask(OTHER);' --port OTHER; then
		case_end
	fi
	if case_begin 'server: still at work' && two_sided - 0 \
		'my $s = listen_on(PORT); my $i = 0; $i++ while $i < 6e6;
		$s = listen_on(OTHER); answer($s) while 1;' 'ask(OTHER);'; then
		case_end
	fi
	if case_begin 'server: in the background' && two_sided - 0 \
		'exit 0 if fork; my $s = listen_on(PORT); answer($s) while 1;' 'ask(PORT);'; then
		case_end
	fi
	if case_begin 'server: says something bad' && two_sided - 1 \
		'my $s = listen_on(PORT); print "bad: 5\n"; answer($s) while 1;' 'ask(PORT);' \
		--server-reject bad; then
		output_has 'server: its output has "bad: 5"'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: its own end is seen through the shell'; then
		run 1 -f tcp --server "$BUILD/test/tools/opens2 x" -- sleep 5
		output_has 'server: ended before'
		echo 'kill -9 $$' >"$DIR/kill-self"
		run 1 -f tcp --server "sh $DIR/kill-self" -- sleep 5
		output_has 'server: killed by SIGKILL'
		run 1 -f tcp --server 'X=1 sh -c "exit 5"' -- sleep 5
		output_has 'server: exit status 5'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'server: started for each run'; then
		run 0 --repeat 2 "${TWO[@]}" --server "echo \$DAT_RUN_FABRIC >>$DIR/seen; \
			echo up; sleep $MARK" --ready up -- \
			sh -c "grep -q \$DAT_RUN_FABRIC $DIR/seen"
		[ "$(tr '\n' ' ' <"$DIR/seen")" = 'a a b b ' ] || problem "not a server per run"
		gone
		case_end
	fi
}

group_compares()
{
	local noise='echo "pid $$ at $(date +%T), $(date +%N) ns, 0x$$ from 10.0.0.$(($$ % 250))"'
	noise+='; echo "port $(($$ + 1)): $(($$ % 7)).$(($$ % 13)) s  $((100 + $$ % 900)) MB/s"'
	noise+='; printf "LOCAL port %x\n" $((40000 + $$ % 20000))'
	noise+='; echo "$DAT_OVERRIDE [fe80::$(($$ % 9000))]"; echo 65536 bytes in 4 segments'
	# An address may contain the process id, or not.
	noise+='; [ $DAT_RUN_FABRIC = a ] && port=$$ || port=4711; echo "peer 10.0.0.1:$port"'
	if case_begin 'compare: equal'; then
		run 0 -c "${TWO[@]}" --repeat 2 -- sh -c "$noise"
		output_has '^4 passed'
		nothing_kept
		case_end
	fi
	if case_begin 'compare: different'; then
		run 1 -c "${TWO[@]}" -- sh -c 'echo same; echo "$DAT_RUN_FABRIC is fine"'
		output_has '^b +fail .*differs from that of a \(2 lines' \
			'\| -a is fine$' '\| \+b is fine$'
		kept b/compare.diff '^[+]b is fine'
		case_end
	fi
	if case_begin 'compare: a count differs'; then
		run 1 -c "${TWO[@]}" -- \
			sh -c '[ $DAT_RUN_FABRIC = b ]; echo "$? messages of 64 bytes"'
		output_has '\| [+]0 messages of <n> bytes|\| [+]0 messages'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'compare: ignored'; then
		run 0 -c --ignore '^[ab] ' "${TWO[@]}" -- sh -c 'echo "$DAT_RUN_FABRIC is fine"'
		case_end
	fi
	if case_begin 'compare: an end is missing'; then
		run 1 -c "${TWO[@]}" -- sh -c 'echo one; [ $DAT_RUN_FABRIC = b ] || echo two'
		output_has '1 line of difference' '\| -two$'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'compare: only what passed'; then
		run 1 -c "${TWO[@]}" -- sh -c 'echo "$DAT_RUN_FABRIC"; [ $DAT_RUN_FABRIC = b ]'
		output_has '^a +fail .*exit status 1' '^b +pass'
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'compare: DAT programs'; then
		run 0 -c "${TWO[@]}" -- "$BUILD/test/tools/opens2" a ib0
		case_end
	fi
}

# What must not spoil any format.
NASTY='printf "<a&b> \"q\" ]]> \\\\ \001\033[31m \377\300\200 \360\237\230\200 \303\251\n"; exit 1'

group_formats()
{
	if case_begin 'format: junit'; then
		run 1 --junit "$DIR/junit.xml" "${TWO[@]}" -f 'x=provider=nope' -- sh -c "$NASTY"
		grep -q 'tests="3" failures="2" errors="0" skipped="1"' "$DIR/junit.xml" ||
			problem "its counts are wrong: $(grep '<testsuite ' "$DIR/junit.xml")"
		grep -q '<testcase classname="sh" name="a" time="' "$DIR/junit.xml" ||
			problem "no case a"
		rm -rf "$TMPDIR"/*
		if ! command -v xmllint >/dev/null; then
			case_skip 'xmllint is not installed'
		else
			xmllint --noout "$DIR/junit.xml" 2>>"$DIR/err" || problem "not well-formed"
			case_end
		fi
	fi
	if case_begin 'format: junit cannot be written'; then
		run 1 --junit /nonexistent/x -f tcp -- true
		grep -q '^dat_run: /nonexistent/x: No such file' "$DIR/err" || problem "not reported"
		case_end
	fi
	if case_begin 'format: json'; then
		run 1 --json "${TWO[@]}" -f 'x=provider="n' -- sh -c "$NASTY"
		rm -rf "$TMPDIR"/*
		if ! perl -MJSON::PP -e 1 2>/dev/null; then
			case_skip 'no JSON module of perl'
		else
			perl -MJSON::PP -e 'my $o = decode_json(join "", <>); my $r = $o->{results};
				exit !(@$r == 3 && $o->{failed} == 2 && $o->{skipped} == 1 &&
				$r->[1]{fabric} eq "b" && $r->[1]{reason} eq "exit status 1" &&
				$r->[2]{params} eq "provider=\"n" && $r->[0]{seconds} > 0)' \
				"$DIR/out" 2>>"$DIR/err" || problem "not the JSON that is promised"
			case_end
		fi
	fi
	if case_begin 'format: tap'; then
		run 1 --tap "${TWO[@]}" -f 'x=provider=nope' -- sh -c '[ $DAT_RUN_FABRIC = a ]'
		output_has '^TAP version 13$' '^1\.\.3$' '^ok 1 - a$' '^not ok 2 - b$' \
			'^# exit status 1$' "^ok 3 - x # SKIP fabric 'nope'" \
			'^# 1 passed, 1 failed, 1 skipped$'
		! grep -vE '^(TAP|1\.\.3|ok|not ok|#)' "$DIR/out" || problem "other lines, too"
		rm -rf "$TMPDIR"/*
		case_end
	fi
	if case_begin 'format: no escapes to the terminal'; then
		run 1 -f tcp -- sh -c "$NASTY"
		! grep -q $'[\001\033]' "$DIR/out" || problem "control characters"
		rm -rf "$TMPDIR"/*
		case_end
	fi
}

# Where the libraries are found: a build tree, an installed tree that was moved, a folder.
group_places()
{
	local root=$DIR/root file
	if case_begin 'place: a folder'; then
		mkdir -p "$DIR/flat"
		for file in libdat.so.1 libdat2.so.2 libdaplofi.so.1 libdaplofi.so.2; do
			ln -sf "$(readlink -f "$(find_lib $file)")" "$DIR/flat/$file"
		done
		run 0 --libdir "$DIR/flat" -f tcp --expect "^$DIR/flat(:|\$)" -- sh -c \
			'echo $LD_LIBRARY_PATH'
		case_end
	fi
	if case_begin 'place: a build tree given'; then
		run 0 --libdir "$BUILD" -f tcp --expect "$BUILD/.libs:" -- \
			sh -c 'echo $LD_LIBRARY_PATH'
		case_end
	fi
	if case_begin 'place: what was there before comes last'; then
		export LD_LIBRARY_PATH=/first:/second
		run 0 -f tcp --expect "^$BUILD/.libs:.*:/first:/second\$" -- sh -c \
			'echo $LD_LIBRARY_PATH'
		unset LD_LIBRARY_PATH
		case_end
	fi
	if case_begin 'place: an installed tree that was moved'; then
		if ! grep -q '^libdir = ${exec_prefix}/lib$' Makefile ||
			! grep -q '^bindir = ${exec_prefix}/bin$' Makefile; then
			case_skip 'configured for other folders'
			return
		fi
		mkdir -p "$root/bin" "$root/lib"
		cp "$RUN" "$root/bin/"
		cp -P "$DIR"/flat/* "$root/lib/"
		RUN=$root/bin/dat_run run 0 -f tcp --expect "^$root/lib(:|\$)" -- sh -c \
			'echo $LD_LIBRARY_PATH'
		case_end
	fi
}
