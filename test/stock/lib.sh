# SPDX-License-Identifier: BSD-2-Clause
# Runs, awaits, times and counts stock DAT programs (sourced by bash).
#
# The callers set BUILD (build tree) and OUT (folder for logs), then call
# stock_config for each combination of libdat, adapter and checker.

PASSED=0 FAILED=0 SKIPPED=0
STOCK_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Each user has a folder of locks, since others must not write to it: see lock_folder.
LOCK_DIR=${TMPDIR:-/tmp}/dat-ofi-stock-locks-$(id -u)
SERVER=		# pid of the time limiter of the running server, empty when none runs
SERVER_NAME=
SLOT_FD=
PORT=

# ---------------------------------------------------------------- verdicts

# since START: seconds since that value of EPOCHREALTIME, with one decimal
since()
{
	local us=$((10#${EPOCHREALTIME//[!0-9]/} - 10#${1//[!0-9]/}))
	printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

pass()
{
	PASSED=$((PASSED + 1))
	echo "ok $CONFIG/$1 ($2 s)"
}

fail()
{
	FAILED=$((FAILED + 1))
	echo "not ok $CONFIG/$1: $2, $3"
}

skip()
{
	SKIPPED=$((SKIPPED + 1))
	echo "skip $CONFIG/$1: $2"
}

totals()
{
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
}

# status_text STATUS LIMIT: nothing for 0
status_text()
{
	case $1 in
	0) ;;
	124 | 137) echo "still running after $2 s" ;;
	*) if [ "$1" -gt 128 ]; then
		echo "killed by SIG$(kill -l $(($1 - 128)))"
	   else
		echo "exit status $1"
	   fi ;;
	esac
}

# ---------------------------------------------------------------- configuration

# lock_folder: makes LOCK_DIR. What stands there and is no folder of this user's is left alone; the
# locks then hold within OUT only.
lock_folder()
{
	mkdir -m 700 "$LOCK_DIR" 2>/dev/null
	if [ ! -d "$LOCK_DIR" ] || [ ! -O "$LOCK_DIR" ] || [ -L "$LOCK_DIR" ]; then
		LOCK_DIR=${OUT:-$BUILD}/locks
		mkdir -p "$LOCK_DIR"
	fi
}

# find_lib NAME: the built shared library of that name below BUILD; tests build others of it
find_lib()
{
	if [ -e "$BUILD/.libs/$1" ]; then
		echo "$BUILD/.libs/$1"
		return
	fi
	find "$BUILD" -path '*/.libs/*' -name "$1" -print -quit
}

# stock_locate: finds the programs and libraries; prints a reason on failure
stock_locate()
{
	LIBDAT2=$(find_lib libdat2.so.2)
	LIBPROV2=$(find_lib libdaplofi.so.2)
	[ -n "$LIBDAT2" ] || { echo "no libdat2.so.2 below $BUILD"; return 1; }
	[ -n "$LIBPROV2" ] || { echo "no libdaplofi.so.2 below $BUILD"; return 1; }
	SANITIZER=
	if readelf -d "$LIBPROV2" | grep -q 'NEEDED.*libasan'; then
		SANITIZER=asan
	elif readelf -d "$LIBPROV2" | grep -q 'NEEDED.*libtsan'; then
		SANITIZER=tsan
	fi
}

# The Debian package's own libdat2, wherever this architecture has it.
debian_libdat2()
{
	ldconfig -p | awk '$1 == "libdat2.so.2" && $NF ~ "^/(usr/)?lib" { print $NF; exit }'
}

# The fabric: a name and parameters of test/fabrics/fabrics.def.
FABRIC=tcp FABRIC_PARAMS="provider=tcp domain=lo"

# stock_config LIBDAT IA HOST [CHECKER] [NAME]
#   LIBDAT   ours, or debian (their libdat2, our provider out of a dat.conf)
#   IA       an entry of the dat.conf written here: ofi-lo; or builtin:NAME for
#            an adapter that libdat knows of without any file; or conf:NAME for one of
#            the file STOCK_DAT_CONF
#   CHECKER  none, valgrind, or sanitizer (as BUILD was configured)
stock_config()
{
	local libdat=$1 checker=${4:-none}
	IA=$2 HOST=$3 CHECKER=$checker LIBDAT_KIND=$libdat
	CONFIG=${5:-$libdat-${2#builtin:}}
	[ "$FABRIC" = tcp ] || CONFIG=$CONFIG-$FABRIC
	case $checker in
	none) ;;
	sanitizer) CONFIG=$CONFIG-$SANITIZER ;;
	*) CONFIG=$CONFIG-$checker ;;
	esac
	LOGS=$OUT/$CONFIG
	mkdir -p "$LOGS"
	lock_folder
	ENVIRON=(-u DAPL_OFI_PROVIDER -u DAT_OVERRIDE -u LD_PRELOAD)
	case $libdat in
	ours)
		LIBDAT_USED=$LIBDAT2
		local libfabric=${DAT_TEST_LIBFABRIC:+:$(dirname "$DAT_TEST_LIBFABRIC")}
		ENVIRON+=("LD_LIBRARY_PATH=$(dirname "$LIBDAT2"):$(dirname "$LIBPROV2")$libfabric") ;;
	debian)
		LIBDAT_USED=$(debian_libdat2)
		ENVIRON+=(-u LD_LIBRARY_PATH) ;;
	esac
	case $IA in
	builtin:*)
		IA=${IA#builtin:} ;;
	conf:*)
		IA=${IA#conf:}
		ENVIRON+=("DAT_OVERRIDE=$STOCK_DAT_CONF") ;;
	*)
		write_dat_conf "$LOGS/dat.conf"
		ENVIRON+=("DAT_OVERRIDE=$LOGS/dat.conf") ;;
	esac
	# Does the adapter have the atomic operations of the InfiniBand extension? Devices that have
	# the extension at all do.
	ATOMICS=
	case $IA in
	ofi-verbs* | ofa-v2-*) ATOMICS=yes ;;
	ofi-tcp*) ;;
	*) ! fabric_has "$FABRIC" atomics || ATOMICS=yes ;;
	esac
	PREFIX=()
	checker_config
	SLOW=${STOCK_SLOW:-1}
	[ "$CHECKER" = none ] || SLOW=$((6 * SLOW))
}

# The programs open names as not thread-safe, as every dat.conf of old has them.
write_dat_conf()
{
	cat >"$1" <<-END
	# Written by test/stock: this build's provider over the fabric of this run.
	ofi-lo u2.0 nonthreadsafe default $LIBPROV2 dat-ofi.2.0 "$FABRIC_PARAMS" ""
	ofi-lo u2.0 threadsafe default $LIBPROV2 dat-ofi.2.0 "$FABRIC_PARAMS" ""
	END
}

checker_config()
{
	case $CHECKER in
	valgrind)
		# XML, because only there each frame names its object: see judge.sh.
		# track-origins: judge.sh attributes uninitialised bytes to the code that made them.
		# keep-debuginfo: libdat's libraries may be unloaded when leaks are listed.
		PREFIX=(valgrind -q --tool=memcheck --leak-check=full --track-origins=yes
			--show-leak-kinds=definite,indirect --keep-debuginfo=yes
			--num-callers=40 --fair-sched=try --child-silent-after-fork=yes
			"--suppressions=$STOCK_DIR/valgrind.supp" --xml=yes) ;;
	sanitizer)
		# The programs know nothing of the sanitizer, whose run-time must come first.
		ENVIRON+=("LD_PRELOAD=$(gcc -print-file-name="lib$SANITIZER.so")") ;;
	esac
}

# checked_command NAME COMMAND...: sets COMMAND to run it under the checker
checked_command()
{
	local name=$1
	shift
	local extra=() variables=("${ENVIRON[@]}")
	case $CHECKER in
	valgrind)
		extra=("--xml-file=$LOGS/$name.%p.xml") ;;
	sanitizer)
		local common="exitcode=0:log_path=$LOGS/$name.san"
		variables+=("ASAN_OPTIONS=$common:detect_leaks=1:halt_on_error=0"
			"UBSAN_OPTIONS=$common:print_stacktrace=1"
			"LSAN_OPTIONS=exitcode=0:report_objects=0"
			"TSAN_OPTIONS=$common:halt_on_error=0:suppressions=$STOCK_DIR/tsan.supp") ;;
	esac
	COMMAND=(env "${variables[@]}" "${PREFIX[@]}" "${extra[@]}" "$@")
}

# ---------------------------------------------------------------- ports

hex_port()
{
	printf ':%04X' "$1"
}

# listening PORT: does a socket of this machine listen there, or an RDMA service point?
listening()
{
	if [ -d /sys/class/infiniband ] && command -v rdma >/dev/null; then
		rdma resource show cm_id 2>/dev/null |
			grep -q "state LISTEN .*src-addr [^ ]*:$1 " && return
	fi
	awk -v p="$(hex_port "$1")" '$4 == "0A" && substr($2, length($2) - 4) == p { found = 1 }
		END { exit !found }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# range_free FIRST COUNT: no socket uses one of these ports; those in TIME_WAIT (06) do not count
range_free()
{
	local port
	while read -r port; do
		port=$((16#$port))
		[ "$port" -lt "$1" ] || [ "$port" -ge $(($1 + $2)) ] || return 1
	done < <(awk 'FNR > 1 && $4 != "06" { n = split($2, a, ":"); print a[n] }' \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null)
}

# claim_ports: sets PORT to the first of 1000 ports, below the range from which the kernel
# gives unused ports to clients; dapltest takes one more for every endpoint.
# A lock keeps other runs of these scripts away.
claim_ports()
{
	local try slot
	[ -z "$SLOT_FD" ] || exec {SLOT_FD}>&-
	for ((try = 0; try < 200; try++)); do
		slot=$((RANDOM % 20))
		exec {SLOT_FD}>"$LOCK_DIR/slot$slot" || break
		PORT=$((11000 + slot * 1000))
		if flock -n "$SLOT_FD" && range_free "$PORT" 1000; then
			return 0
		fi
		exec {SLOT_FD}>&-
	done
	SLOT_FD=
	return 1
}

# with_lock NAME COMMAND...: for programs whose ports cannot be chosen
with_lock()
{
	local fd status
	exec {fd}>"$LOCK_DIR/$1" || return 1
	flock -w 300 "$fd" || return 1
	shift
	"$@"
	status=$?
	exec {fd}>&-
	return $status
}

# ---------------------------------------------------------------- processes

# at_rest PID: have all threads of that process been asleep for half a second? AT_REST, set to
# nothing before, is since when they are.
at_rest()
{
	local state
	for state in /proc/"$1"/task/*/stat; do
		if [[ $(sed 's/.*) //' "$state" 2>/dev/null) != S* ]]; then
			AT_REST=
			return 1
		fi
	done
	AT_REST=${AT_REST:-$EPOCHREALTIME}
	[ "$(since "$AT_REST" | tr -d .)" -ge 5 ]
}

# ready PORT: does it listen? Where a service point is no TCP port: is the server at rest?
ready()
{
	listening "$1" && return
	[ -z "${FABRIC_SOCKETS-yes}" ] && [ "$1" != "$SIDE_PORT" ] &&
		grep -qF "$(basename "$(readlink -f "$LIBPROV2")")" "/proc/$(server_pid)/maps" \
			2>/dev/null && at_rest "$(server_pid)"
}

# start_server NAME LIMIT PORT COMMAND...: returns when it is ready
start_server()
{
	local name=$1 limit=$(($2 * SLOW)) port=$3 start=$EPOCHREALTIME fd
	shift 3
	SERVER_NAME=$name
	SERVER_LOG=$LOGS/$name.log
	checked_command "$name" "$@"
	echo "\$ ${COMMAND[*]}" >"$SERVER_LOG"
	fd=${SLOT_FD:-3}
	timeout -k 5 "$limit" "${COMMAND[@]}" >>"$SERVER_LOG" 2>&1 </dev/null {fd}>&- &
	SERVER=$!
	SERVER_LIMIT=$limit
	AT_REST=
	while ! ready "$port"; do
		if ! kill -0 "$SERVER" 2>/dev/null; then
			wait "$SERVER"
			SERVER_STATUS=$?
			SERVER=
			return 1
		fi
		if [ "$(since "$start" | cut -d. -f1)" -ge $((20 * SLOW)) ]; then
			end_server 0
			SERVER_STATUS=124
			return 1
		fi
		sleep 0.02
	done
}

# server_pid: the server itself, child of its time limiter
server_pid()
{
	local children
	children=$(cat "/proc/$SERVER/task/$SERVER/children" 2>/dev/null)
	echo "${children%% *}"
}

# end_server SECONDS: lets it end by itself for so long; sets SERVER_STATUS, or 124
end_server()
{
	local start=$EPOCHREALTIME
	[ -n "$SERVER" ] || return 0
	while kill -0 "$SERVER" 2>/dev/null; do
		if [ "$(since "$start" | cut -d. -f1)" -ge $(($1 * SLOW)) ]; then
			kill "$SERVER" 2>/dev/null
			wait "$SERVER" 2>/dev/null
			SERVER=
			SERVER_STATUS=124
			return 1
		fi
		sleep 0.02
	done
	wait "$SERVER" 2>/dev/null
	SERVER_STATUS=$?
	SERVER=
}

# run_program NAME LIMIT COMMAND...: runs it to its end; sets STATUS, LOG and TOOK
run_program()
{
	local name=$1 start=$EPOCHREALTIME
	LIMIT=$(($2 * SLOW))
	shift 2
	LOG=$LOGS/$name.log
	checked_command "$name" "$@"
	echo "\$ ${COMMAND[*]}" >"$LOG"
	timeout -k 5 "$LIMIT" ${ALONE[@]+"${ALONE[@]}"} "${COMMAND[@]}" >>"$LOG" 2>&1 </dev/null
	STATUS=$?
	TOOK=$(since "$start")
}

# all_ports_free: sets ALONE so that a program that needs no other finds every port free, if this
# user may have a network of its own. (Put in front of the command; empty: it may not.) RDMA devices
# are not to be seen from there. The ports that the kernel gives to sockets without one, such as those
# of the adapter itself, are not those that dapltest's limits use (43806 and following).
all_ports_free()
{
	ALONE=()
	[[ $IA != ofi-verbs* && $IA != ofa-* ]] || return 0
	ALONE=(unshare -n sh -c 'ip link set lo up &&
		echo 50000 60999 >/proc/sys/net/ipv4/ip_local_port_range && exec "$0" "$@"')
	"${ALONE[@]}" true 2>/dev/null || ALONE=()
}

stock_cleanup()
{
	[ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null
}
trap stock_cleanup EXIT
