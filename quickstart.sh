#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the project and shows it at work, or runs all tests, with one command.
set -u

HERE=$(cd "$(dirname "$0")" && pwd)
LOG_DIR=$HERE/build/logs
JOBS=$(nproc 2>/dev/null || echo 2)
STARTED=$SECONDS
PREFIX=

usage()
{
	cat <<-'END'
	usage: ./quickstart.sh [check|clean|help] [--libfabric PREFIX]

	  (nothing)  install what is missing (Debian packages), build in ./build, and let the
	             unmodified program dapltest of Debian's dapl2-utils transfer and validate
	             data over the adapter ofi-tcp; then a table of latency and bandwidth. Without
	             dapl2-utils, as on Debian 13, examples and dat_perf transfer the data
	  check      the same set-up, then every test: the normal build, one with ASan and
	             UBSan, one with TSan, builds by clang and by compilers for 32 bits and for
	             aarch64, the stock programs, a selection over RDMA devices in a virtual
	             machine, where possible; ends with "N passed, N failed, N skipped"
	             (a build that gets its turn after 30 minutes runs make check only;
	             CHECK_FULL=1: no selections, and the nightly tests, too;
	             CHECK_BUILDS="normal asan tsan clang cross verbs": some of these only)
	  clean      remove ./build and the other folders that check makes
	  help       print this

	  --libfabric PREFIX   build and run with the libfabric that was installed with this
	             prefix (test/libfabric/get builds one) instead of the system's; check then
	             leaves out the other processors, and the RDMA devices unless this libfabric
	             has the provider verbs (test/libfabric/get -v)
	END
}

# ---------------------------------------------------------------- output

if [ -t 1 ]; then
	BOLD=$'\e[1m' RED=$'\e[31m' PLAIN=$'\e[0m'
else
	BOLD='' RED='' PLAIN=''
fi

# step TEXT: begins a step; done_step [TEXT]: ends it and prints its time
step()
{
	STEP_STARTED=$EPOCHREALTIME
	echo "$BOLD==> $1$PLAIN"
}

done_step()
{
	local us=$((10#${EPOCHREALTIME//[!0-9]/} - 10#${STEP_STARTED//[!0-9]/}))
	printf '    %s (%d.%d s)\n' "${1:-done}" $((us / 1000000)) $((us / 100000 % 10))
}

# die REASON [LOG]
die()
{
	echo "$RED    failed: $1$PLAIN" >&2
	if [ $# -gt 1 ]; then
		tail -n 25 "$2" | sed 's/^/    | /' >&2
		echo "    full log: $2" >&2
	fi
	exit 1
}

# logged LOG COMMAND...: quiet, unless it fails
logged()
{
	local log=$1
	shift
	echo "\$ $*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null || die "$*" "$log"
}

# ---------------------------------------------------------------- packages

# The programs and headers of the build, and the stock programs that we run.
PACKAGES="gcc g++ libc6-dev make autoconf automake libtool pkg-config libfabric-dev libcunit1-dev
	dapl2-utils systemtap-sdt-dev"
CHECK_PACKAGES="clang clang-format valgrind xz-utils libxml2-utils mandoc gnuplot-nox libfabric-bin zsh iproute2
	cmake procps perl python3"
# Compilers for other machines.
CROSS_PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-i686-linux-gnu libc6-dev-i386-cross"
# The virtual machine with RDMA devices.
VM_PACKAGES="qemu-system-x86 busybox-static cpio ibverbs-providers"

missing_packages()
{
	local package
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
			echo "$package"
	done
}

# in_archive PACKAGE: the lists of packages that were fetched last contain it
in_archive()
{
	apt-cache show "$1" 2>/dev/null | grep -q .
}

# without_absent PACKAGE...: all but dapl2-utils if the release has no such package
without_absent()
{
	local package
	for package; do
		# without lists, nothing is known of what the release has
		if [ "$package" != dapl2-utils ] || in_archive dapl2-utils ||
			! in_archive libfabric-dev; then
			echo "$package"
		fi
	done
}

# A system that has just started often installs updates.
LOCK_LIMIT=${LOCK_LIMIT:-300}

# when_free COMMAND...: again while another program has the lock of the package manager
when_free()
{
	local said status end=$((SECONDS + LOCK_LIMIT))
	while :; do
		said=$(LC_ALL=C "$@" 2>&1)
		status=$?
		echo "$said"
		[ "$status" -ne 0 ] && [[ $said == *"Could not get lock"* ]] &&
			[ "$SECONDS" -lt "$end" ] || return "$status"
		sleep 2
	done
}

install_packages()
{
	local missing sudo=
	step "packages"
	export DEBIAN_FRONTEND=noninteractive
	if ! command -v dpkg-query >/dev/null; then
		done_step "not a Debian system: install $* yourself"
		return
	fi
	missing=$(missing_packages "$@" | xargs)
	missing=$(without_absent $missing | xargs)
	if [ -z "$missing" ]; then
		done_step "all installed"
		return
	fi
	echo "    installing $missing"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null ||
			die "need root (or sudo) to run: apt-get install $missing"
		sudo=sudo
	fi
	logged "$LOG_DIR/packages.log" when_free $sudo apt-get update
	missing=$(without_absent $missing | xargs)
	logged "$LOG_DIR/packages.log" when_free $sudo env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends $missing
	done_step "installed"
}

# ---------------------------------------------------------------- building

# configure_tree ARGUMENTS: configure would look for bash, with which libtool takes longer to start a
# compiler than most sources take to compile.
configure_tree()
{
	local shell=/bin/dash
	[ -x "$shell" ] || shell=/bin/sh
	CONFIG_SHELL=$shell "$shell" ../configure "$@"
}

# build_tree NAME TEXT [CONFIGURE ARGUMENTS]: configures (unless done) and makes ./NAME
build_tree()
{
	local name=$1 text=$2 log=$LOG_DIR/$1.log
	shift 2
	# As an argument it is compared with that of the last time.
	[ -z "$PREFIX" ] || set -- "$@" "PKG_CONFIG_PATH=$PKG_CONFIG_PATH"
	step "$text in ./$name"
	: >"$log"
	if [ ! -x "$HERE/configure" ]; then
		(cd "$HERE" && logged "$log" autoreconf -fi) || exit 1
	fi
	mkdir -p "$HERE/$name"
	# Objects of another configuration would hide the warnings of this one.
	if [ ! -f "$HERE/$name/Makefile" ] ||
		[ "$*" != "$(cat "$HERE/$name/.configured" 2>/dev/null)" ]; then
		(cd "$HERE/$name" && logged "$log" configure_tree "$@") || exit 1
		logged "$log" make -C "$HERE/$name" clean
		mkdir -p "$LOG_DIR"
		echo "$*" >"$HERE/$name/.configured"
	fi
	logged "$log" make -C "$HERE/$name" -j"$JOBS" all
	done_step "built, log $log"
}

# ---------------------------------------------------------------- the main job

# The part of the stock tests that starts servers, waits for ports and judges output.
load_stock()
{
	BUILD=$HERE/build OUT=$HERE/build/logs/quickstart PATTERN=
	. "$HERE/test/stock/lib.sh"
	. "$HERE/test/stock/judge.sh"
	. "$HERE/test/stock/dapltest.sh"
	local reason
	reason=$(stock_locate) || die "$reason"
	stock_locate
}

wanted()
{
	true
}

# transfer TEXT NAME ARGUMENTS...: runs one client and prints its outcome
transfer()
{
	local text=$1 name=$2 judge=$3 before=$FAILED
	shift 3
	printf '    %-52s' "$text"
	dapltest_client "$name" 60 "$judge" "$@" >"$OUT/last"
	if [ "$FAILED" -gt "$before" ]; then
		echo "FAILED"
		die "$(cat "$OUT/last")" "$LOG"
	fi
	echo "ok ($TOOK s)"
}

# example_job: greets a server of examples/ by its client
example_job()
{
	local log=$LOG_DIR/example.log limit=60 where= server status
	step "examples/hello_server and hello_client over the adapter ofi-tcp"
	logged "$LOG_DIR/build.log" make -C "$HERE/build" examples/hello_server examples/hello_client
	: >"$log"
	env "${ENVIRON[@]}" timeout -k 5 $limit "$HERE/build/examples/hello_server" ofi-tcp \
		>>"$log" 2>&1 </dev/null &
	server=$!
	while [ -z "$where" ] && kill -0 "$server" 2>/dev/null; do
		where=$(sed -n 's/^listening on //p' "$log")
		[ -n "$where" ] || sleep 0.05
	done
	env "${ENVIRON[@]}" timeout -k 5 $limit "$HERE/build/examples/hello_client" $where ofi-tcp \
		>>"$log" 2>&1 </dev/null
	status=$?
	wait "$server" && [ "$status" -eq 0 ] || die "the example" "$log"
	sed 's/^/    /' "$log"
	done_step
}

# own_job: what is shown where there is no dapltest
own_job()
{
	load_stock
	stock_config ours builtin:ofi-tcp 127.0.0.1 none quickstart
	: >"$LOG_DIR/perf.log"
	example_job
	step "dat_perf over the adapter ofi-tcp, all data validated"
	perf --test lat,bw --size 4K,64K,1M --rounds 1 --iters 50 --validate ||
		die "dat_perf --validate" "$LOG_DIR/perf.log"
	done_step "each message, write and read was compared with what was sent"
}

dapltest_job()
{
	local both="client SR 64 1 server SR 64 1"
	load_stock
	step "dapltest of Debian's dapl2-utils, unmodified, over the adapter ofi-tcp"
	stock_config ours builtin:ofi-tcp 127.0.0.1 none quickstart
	dapltest_server server >"$OUT/last" || die "$(cat "$OUT/last")" "$SERVER_LOG"
	echo "    server: dapltest -T S -D ofi-tcp -n $PORT"
	echo "    with  : LD_LIBRARY_PATH=$(dirname "$LIBDAT2"):$(dirname "$LIBPROV2")"
	dapltest_maps >"$OUT/last"
	[ "$FAILED" -eq 0 ] || die "$(cat "$OUT/last")"
	local run=(judge_transaction -T T "${CLIENT[@]}" -V -t 2 -w 4)
	transfer "send/receive 4 KiB, both ways, validated" SR "${run[@]}" -i 100 \
		client SR 4096 1 server SR 4096 1
	transfer "RDMA write 64 KiB, both ways, validated" RW "${run[@]}" -i 20 \
		client RW 65536 1 server RW 65536 1 $both
	transfer "RDMA read 64 KiB, both ways, validated" RR "${run[@]}" -i 20 \
		client RR 65536 1 server RR 65536 1 $both
	transfer "all three, 1 MiB in 4 segments, validated" ALL "${run[@]}" -i 2 $(ops 262144 4)
	dapltest_quit >"$OUT/last"
	[ "$FAILED" -eq 0 ] || die "$(cat "$OUT/last")" "$SERVER_LOG"
	done_step "2 threads x 4 connections each; the server quit on request"
}

main_job()
{
	if command -v dapltest >/dev/null; then
		dapltest_job
		return
	fi
	SHOWN="an example and dat_perf"
	echo "    dapltest is not installed, and this release may have no package dapl2-utils:" \
		"programs of this project take its place"
	own_job
}

# A busy machine needs many times the usual half minute. This ends what hangs, nothing else.
TABLE_LIMIT=${TABLE_LIMIT:-3600}

# perf ARGUMENTS...: a table of the benchmark; its exit status, 124 if the limit ended it
perf()
{
	local log=$LOG_DIR/perf.log status
	echo "\$ dat_perf $*" >>"$log"
	timeout -k 5 "$TABLE_LIMIT" env "${ENVIRON[@]}" "$HERE/build/tools/perf/dat_perf" \
		--ia ofi-tcp --op send,write,read --rounds 3 --timeout 120 "$@" \
		>"$log.last" 2>&1 </dev/null
	status=$?
	cat "$log.last" >>"$log"
	[ "$status" -ne 0 ] || sed 's/^/    /' "$log.last"
	rm -f "$log.last"
	return "$status"
}

# table: its exit status tells whether anything but time was missing
table()
{
	local log=$LOG_DIR/perf.log status
	step "latency and bandwidth over ofi-tcp between two processes of this machine"
	: >"$log"
	perf --test lat --size 64,4K && perf --test bw --size 64K,1M
	status=$?
	case $status in
	0)
		done_step "measured; build/tools/perf/dat_perf --help tells more"
		return ;;
	124 | 137) TABLE_MISSING="it had not ended after $TABLE_LIMIT s" ;;
	*)
		TABLE_MISSING="dat_perf ended with status $status"
		tail -n 25 "$log" | sed 's/^/    | /' >&2 ;;
	esac
	done_step "not measured: $TABLE_MISSING; the whole log: $log"
	[ "$status" -eq 124 ] || [ "$status" -eq 137 ]
}

quickstart()
{
	local status=0 TABLE_MISSING= SHOWN="unmodified dapltest"
	mkdir -p "$LOG_DIR"
	echo "dat-ofi: DAT programs over libfabric${PREFIX:+ of $PREFIX}"
	install_packages $PACKAGES
	build_tree build "libraries, provider and tools"
	main_job
	table || status=1
	echo "${BOLD}It works: $SHOWN sent, RDMA-wrote and RDMA-read over ofi-tcp, all data" \
		"validated ($((SECONDS - STARTED)) s).$PLAIN"
	[ -z "$TABLE_MISSING" ] ||
		echo "The main job passed; only the table could not be measured: $TABLE_MISSING."
	return "$status"
}

# ---------------------------------------------------------------- check

PASSED=0 FAILED=0 SKIPPED=0

# count_log LOG: "passed failed skipped" of a test program's output, nothing if it tells none
count_log()
{
	awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p = $1; f = $3; s = $5; told = 1 }
	$1 == "tests" && NF >= 6 && $2 ~ /^[0-9]+$/ { p += $4; f += $5; s += $6; told = 1 }
	END { if (told) print p + 0, f + 0, s + 0 }' "$1"
}

# show_failures LOG LINES: what the log of a test says of failures
show_failures()
{
	# of a case, and of a piece of test/fabrics/check
	local failed='^not ok |^[a-z0-9_A-Z]+ +FAIL |^[a-z+]+ +[^ ]+ +FAILED '
	local reports='(ERROR|WARNING|SUMMARY): [A-Za-z]+Sanitizer|: runtime error: '
	grep -aE -A1 "$failed|$reports" "$1" |
		head -n "$2" | sed 's/^/    | /'
}

# count_tree NAME: adds up what the last make check in ./NAME said
count_tree()
{
	local trs log verdict p f s tree_p=0 tree_f=0 tree_s=0
	while read -r trs; do
		log=${trs%.trs}.log
		verdict=$(sed -n 's/^:test-result: //p' "$trs" | head -1)
		read -r p f s <<<"$(count_log "$log")"
		case $verdict in
		PASS | XFAIL)
			[ -n "${p:-}" ] || { p=1 f=0 s=0; } ;;
		SKIP)
			[ -n "${p:-}" ] || { p=0 f=0 s=1; }
			[ $((p + s)) -gt 0 ] || s=1 ;;
		*)
			[ -n "${p:-}" ] || { p=0 f=0 s=0; }
			[ "$f" -gt 0 ] || f=1
			echo "    $verdict ${log#"$HERE"/}"
			show_failures "$log" 30 ;;
		esac
		tree_p=$((tree_p + p)) tree_f=$((tree_f + f)) tree_s=$((tree_s + s))
		p=
	done < <(find "$HERE/$1" -name '*.trs')
	PASSED=$((PASSED + tree_p)) FAILED=$((FAILED + tree_f)) SKIPPED=$((SKIPPED + tree_s))
	done_step "$tree_p passed, $tree_f failed, $tree_s skipped"
}

# failed_tests NAME: the tests of ./NAME that did not pass
failed_tests()
{
	find "$HERE/$1" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR)' {} + |
		sed "s,^$HERE/$1/,,; s,\.trs\$,," | tr '\n' ' '
}

# told_nothing LOG: make check failed, but no test says that it did; some may not have run
told_nothing()
{
	FAILED=$((FAILED + 1))
	grep -aE 'fatal:|\*\*\*' "$1" | head -n 12 | sed 's/^/    | /'
}

# When all tests take 34 minutes, the last build has had its turn by then. Machines on which they
# take 80 have been seen, and CI ends after 90.
LATE=$((30 * 60))

# choose_tier: sets tier to the target of make
choose_tier()
{
	tier=check-all
	if [ -n "${CHECK_FULL:-}" ]; then
		tier=check-nightly
	elif [ $((SECONDS - STARTED)) -ge $LATE ]; then
		tier=check
		SKIPPED=$((SKIPPED + 1))
		echo "    skipped: the long tests of make check-all, after $((LATE / 60)) minutes"
	fi
}

# check_tree NAME TEXT: make check in ./NAME
check_tree()
{
	local log=$LOG_DIR/$1.check.log jobs=$((2 * JOBS)) tier status test
	step "tests: $2"
	choose_tier
	find "$HERE/$1" -name '*.trs' -delete
	# Tests spend most of their time asleep: two for each processor; with a sanitizer they do not.
	[ "$1" = build ] || jobs=$((JOBS + 1))
	(cd "$HERE/$1" && timeout -k 10 1800 make -k -j"$jobs" "$tier") >"$log" 2>&1 </dev/null
	status=$?
	if [ "$status" -ge 124 ]; then
		FAILED=$((FAILED + 1))
		echo "    make check did not end within 30 minutes"
	elif [ "$status" -ne 0 ]; then
		# Many tests measure time, and some ran side by side: what failed has to pass alone.
		echo "    failed, once more alone: $(failed_tests "$1")"
		[ -n "$(failed_tests "$1")" ] || told_nothing "$log"
		for test in $(failed_tests "$1"); do
			show_failures "$HERE/$1/$test.log" 6
			cp "$HERE/$1/$test.log" "$LOG_DIR/$1.${test//\//-}.failed.log"
		done
		(cd "$HERE/$1" && timeout -k 10 1200 make -k -j1 recheck) >>"$log" 2>&1 </dev/null
	fi
	if [ "$status" -ne 0 ] && [ -z "$(find "$HERE/$1" -name '*.trs' -print -quit)" ]; then
		FAILED=$((FAILED + 1))
		tail -n 25 "$log" | sed 's/^/    | /'
		done_step "no test ran: $log"
		return
	fi
	count_tree "$1"
}

# check_build NAME TEXT [CONFIGURE ARGUMENTS]: a failure is counted, other builds go on
check_build()
{
	(build_tree "$@" --enable-werror) && return
	FAILED=$((FAILED + 1))
	return 1
}

# build_sanitized NAME TEXT ARGUMENTS: with the assertions, too (base/debug.h), and with the tests; at -O1,
# which takes half of the time of -O2 to compile, and knows less of the ranges of values. The leak checker
# must see the dynamic linker as the caller of malloc, also behind a malloc of the tests: hence the tail calls.
build_sanitized()
{
	build_tree "$@" CFLAGS="-O1 -foptimize-sibling-calls -Wno-format-truncation" \
		--enable-debug --enable-werror || return
	step "build of its tests"
	(logged "$LOG_DIR/$1.log" make -C "$HERE/$1" -j"$JOBS" check TESTS=) || return
	done_step built
}

# Every source, the tests' own included, must also please the other compiler, whose warnings do not
# depend on optimisation.
build_clang()
{
	build_tree build-clang "build by clang" CC=clang CXX=clang++ CFLAGS=-O0 --enable-werror ||
		return
	step "build of the tests by clang"
	(logged "$LOG_DIR/build-clang.log" make -C "$HERE/build-clang" -j"$JOBS" check TESTS=) ||
		return
	done_step built
}

# build_cross MACHINE TEXT ARCHITECTURE: libraries and tools for another kind of machine; 77 without
# a compiler for it. The headers of libfabric are the same for all; it is loaded when an adapter is
# opened, so it is not needed to link. Without optimisation, which takes half of the time but does
# not know the ranges of values.
build_cross()
{
	local machine=$1 name=build-$1 log=$LOG_DIR/build-$1.log library
	if ! command -v "$machine-gcc" >/dev/null; then
		step "build for $2"
		done_step "skipped: not installed: $machine-gcc"
		return 77
	fi
	mkdir -p "$HERE/$name/include"
	ln -sfn "$(pkg-config --variable=includedir libfabric)/rdma" "$HERE/$name/include/rdma"
	build_tree "$name" "build for $2" --host="$machine" --disable-probes --enable-werror \
		CFLAGS="-O0 -Wno-format-truncation" \
		LIBFABRIC_CFLAGS="-I$HERE/$name/include" LIBFABRIC_LIBS=-lfabric \
		LIBFABRIC_LIBDIR="/usr/lib/$machine" CUNIT_CFLAGS= CUNIT_LIBS= || return
	for library in .libs/libdat.so.1 .libs/libdat2.so.2 prov_ofi/dat1/.libs/libdaplofi.so.1 \
		prov_ofi/dat2/.libs/libdaplofi.so.2 tools/info/dat_info; do
		"$machine-objdump" -f "$HERE/$name/$library" 2>&1 | grep -q "^architecture: $3" ||
			echo "$library is not for $2"
	done >"$log.machine"
	sed 's/^/    | /' "$log.machine"
	[ ! -s "$log.machine" ]
}

# build_one BUILD: one of those that are built while tests run
build_one()
{
	case $1 in
	asan) build_sanitized build-asan "ASan and UBSan build" --enable-asan ;;
	tsan) build_sanitized build-tsan "TSan build" --enable-tsan ;;
	clang) build_clang ;;
	i686) build_cross i686-linux-gnu "32 bits (i686)" i386 ;;
	aarch64) build_cross aarch64-linux-gnu aarch64 aarch64 ;;
	esac
}

# build_others BUILD...: all of them, one after another, on processors that have nothing else to do:
# tests sleep for more than half of their time. What each prints and its status go to files.
build_others()
{
	local build
	chrt --idle --pid 0 $BASHPID 2>/dev/null || renice -n 19 -p $BASHPID >/dev/null
	for build; do
		(build_one "$build") >"$LOG_DIR/$build.out" 2>&1
		echo $? >"$LOG_DIR/$build.status"
	done
}

# await_build BUILD: until it has been built; prints what it printed; its status
await_build()
{
	while [ ! -s "$LOG_DIR/$1.status" ] && kill -0 "$BUILDER" 2>/dev/null; do
		sleep 0.2
	done
	cat "$LOG_DIR/$1.out" 2>/dev/null
	return "$(cat "$LOG_DIR/$1.status" 2>/dev/null || echo 1)"
}

# count_build BUILD: its result counts as one test
count_build()
{
	await_build "$1"
	case $? in
	0) PASSED=$((PASSED + 1)) ;;
	77) SKIPPED=$((SKIPPED + 1)) ;;
	*) FAILED=$((FAILED + 1)) ;;
	esac
}

# check_sanitized BUILD TEXT: make check-all in a tree that is built meanwhile
check_sanitized()
{
	if await_build "$1"; then
		check_tree "build-$1" "$2"
	else
		FAILED=$((FAILED + 1))
	fi
}

# prepare_verbs: the virtual machine's kernel, which takes a minute to download and unpack
prepare_verbs()
{
	timeout -k 10 600 "$HERE/test/vm/vm" -p >"$LOG_DIR/vm.log" 2>&1 </dev/null
	case $? in
	124 | 137) echo "skip: its kernel was not there within 10 minutes" >>"$LOG_DIR/vm.log" ;;
	esac
}

# check_verbs: one test, whatever it consists of. It has the machine to itself: an emulated guest
# is slow, and slows down what measures time beside it.
check_verbs()
{
	local log=$LOG_DIR/verbs.log reason status limit=720 selection=-q
	[ -z "${CHECK_FULL:-}" ] || limit=6600 selection=
	step "tests: RDMA devices, in a virtual machine"
	reason=$(sed -n 's/^skip: //p' "$LOG_DIR/vm.log" 2>/dev/null | head -n 1)
	if [ -z "$reason" ]; then
		timeout -k 10 $limit "$HERE/test/vm/check-verbs" -b "$HERE/build" \
			-o "$LOG_DIR/verbs" $selection >"$log" 2>&1 </dev/null
		status=$?
		reason=$(sed -n 's/^skip: //p' "$log" | head -n 1)
	fi
	case ${status:-77} in
	0)
		PASSED=$((PASSED + 1))
		sed -n 's/^skip: /    /p' "$log" ;;
	77)
		SKIPPED=$((SKIPPED + 1))
		done_step "skipped: $reason"
		return ;;
	*)
		FAILED=$((FAILED + 1))
		[ "$status" -lt 124 ] || echo "    it did not end within $limit s"
		grep -avE ': [0-9]+ passed' "$log" | head -n 40 | sed 's/^/    | /' ;;
	esac
	done_step "$(tail -n 1 "$log"); logs in $LOG_DIR/verbs"
}

sum_up()
{
	echo "all of it took $(((SECONDS - STARTED) / 60)) min $(((SECONDS - STARTED) % 60)) s"
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}

# selected BUILD: is it one of CHECK_BUILDS?
selected()
{
	[[ " ${CHECK_BUILDS:-normal asan tsan clang cross verbs} " == *" $1 "* ]]
}

check()
{
	local built= others=() build

	[ -z "${CHECK_FULL:-}" ] || export STOCK_FULL=1
	mkdir -p "$LOG_DIR"
	if ! (install_packages $PACKAGES $CHECK_PACKAGES); then
		FAILED=1
		sum_up
		return
	fi
	! selected cross || (install_packages $CROSS_PACKAGES)
	if selected verbs; then
		(install_packages $VM_PACKAGES)
		prepare_verbs &
	fi
	! selected normal && ! selected verbs || ! check_build build "normal build (gcc)" || built=1
	wait
	for build in asan tsan clang; do
		! selected $build || others+=($build)
	done
	! selected cross || others+=(i686 aarch64)
	(cd "$LOG_DIR" && rm -f {asan,tsan,clang,i686,aarch64}.{out,status})
	build_others "${others[@]}" &
	BUILDER=$!
	! selected normal || [ -z "$built" ] || check_tree build "normal build"
	! selected verbs || [ -z "$built" ] || check_verbs
	! selected asan || check_sanitized asan "under ASan and UBSan"
	! selected tsan || check_sanitized tsan "under TSan"
	for build in clang i686 aarch64; do
		[[ " ${others[*]} " != *" $build "* ]] || count_build $build
	done
	sum_up
}

# use_libfabric PREFIX: for all builds, and, as another file for the system's, for all tests
use_libfabric()
{
	local lib=$1/lib
	[ -e "$lib/libfabric.so.1" ] || lib=$1/lib64
	[ -e "$lib/libfabric.so.1" ] || die "no libfabric.so.1 in $1/lib or $1/lib64"
	export PKG_CONFIG_PATH=$lib/pkgconfig DAT_TEST_LIBFABRIC=$lib/libfabric.so.1
	export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	if [ -z "${CHECK_BUILDS:-}" ]; then
		CHECK_BUILDS="normal asan tsan clang"
		! "$1/bin/fi_info" -l 2>/dev/null | grep -q '^verbs:' || CHECK_BUILDS+=" verbs"
	fi
}

# The tests take the functions alone.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

command=
while [ $# -gt 0 ]; do
	case $1 in
	--libfabric)
		[ $# -gt 1 ] || { usage >&2; exit 2; }
		PREFIX=$(cd "$2" && pwd) || exit 2
		shift ;;
	-h | --help) command=help ;;
	*)
		[ -z "$command" ] || { usage >&2; exit 2; }
		command=$1 ;;
	esac
	shift
done
[ -z "$PREFIX" ] || use_libfabric "$PREFIX"

case $command in
'') quickstart ;;
check) check ;;
clean) rm -rf "$HERE"/build "$HERE"/build-asan "$HERE"/build-tsan "$HERE"/build-clang \
	"$HERE"/build-i686-linux-gnu "$HERE"/build-aarch64-linux-gnu ;;
help) usage ;;
*) usage >&2; exit 2 ;;
esac
