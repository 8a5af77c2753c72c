#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks what quickstart.sh reports when the main job has passed and its table is slow or fails, and
# how its check counts the builds that are made while tests run.
set -u
src=$(cd "${srcdir:-.}" && pwd)
passed=0 failed=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-quickstart.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$dir/build/tools/perf"

# run LIMIT: quickstart.sh without the steps that install, build and transfer; dat_perf is stdin
run()
{
	cat >"$dir/build/tools/perf/dat_perf"
	chmod +x "$dir/build/tools/perf/dat_perf"
	TABLE_LIMIT=$1 bash -c '
		. "$1"
		HERE=$2 LOG_DIR=$2/logs ENVIRON=(-u DAT_OVERRIDE)
		install_packages() { true; }
		build_tree() { true; }
		main_job() { true; }
		quickstart' test "$src/quickstart.sh" "$dir" >"$dir/out" 2>&1
	status=$?
}

# judge NAME STATUS: the status was that one, and no problem has been noted
judge()
{
	[ "$status" -eq "$2" ] || problem="exit status $status"
	if [ -z "$problem" ]; then
		passed=$((passed + 1))
		echo "ok $1"
	else
		failed=$((failed + 1))
		echo "not ok $1: $problem"
		sed 's/^/    /' "$dir/out"
	fi
	problem=
}
problem=

says()
{
	grep -q "$1" "$dir/out" || problem="does not say: $1"
}

silent_about()
{
	! grep -q "$1" "$dir/out" || problem="says: $1"
}

works='It works: unmodified dapltest'
only='The main job passed; only the table could not be measured'

run '' <<-'END'
	#!/bin/sh
	echo "a table"
END
says "$works"
says '^    a table$'
silent_about "$only"
judge 'a table that was measured is shown' 0

run 1 <<-'END'
	#!/bin/sh
	exec sleep 60
END
says "$works"
says "$only: it had not ended after 1 s"
silent_about 'failed'
judge 'a table that takes too long is no failure' 0

run '' <<-'END'
	#!/bin/sh
	echo "bytes differ"
	exit 3
END
says "$works"
says "$only: dat_perf ended with status 3"
says '| bytes differ'
judge 'a table that fails is distinguished from the main job' 1

# packages PACKAGE...: the packages that quickstart.sh installs; those of the release are in $has
packages()
{
	bash -c '
		. "$1"
		LOG_DIR=$2
		shift 2
		missing_packages() { printf "%s\n" "$@"; }
		apt-cache() { [[ " $has " != *" $2 "* ]] || echo "Package: $2"; }
		logged() { shift 2; [ "$1" != env ] || set -- "${@:3}"; echo "$*"; }
		id() { echo 0; }
		install_packages "$@"' test "$src/quickstart.sh" "$dir" "$@" >"$dir/out" 2>&1
	status=$?
}

export has="libfabric-dev dapl2-utils"
packages gcc dapl2-utils
says '^apt-get install .* gcc dapl2-utils$'
judge 'dapl2-utils is installed where the release has it' 0
has=libfabric-dev
packages gcc dapl2-utils
says '^apt-get install .* gcc$'
judge 'dapl2-utils is left out where the release has none' 0
packages dapl2-utils
says 'all installed'
judge 'nothing is fetched for dapl2-utils alone where the release has none' 0
has=
packages dapl2-utils
says '^apt-get install .* dapl2-utils$'
judge 'dapl2-utils is asked for where nothing is known of the release' 0

# locked TIMES LIMIT TEXT: apt-get fails that many times, with that text
locked()
{
	: >"$dir/tries"
	LOCK_LIMIT=$2 bash -c '
		. "$1"
		tries=$2 times=$3 text=$4
		sleep() { true; }
		apt-get()
		{
			echo once >>"$tries"
			[ "$(wc -l <"$tries")" -le "$times" ] || { echo installed; return; }
			echo "E: $text" >&2
			return 100
		}
		when_free apt-get install' test "$src/quickstart.sh" "$dir/tries" "$1" "$3" \
		>"$dir/out" 2>&1
	status=$?
}

locked 3 300 'Could not get lock /var/lib/dpkg/lock-frontend'
says '^installed$'
judge 'packages are installed when another program has released the lock' 0
locked 1000000 1 'Could not get lock /var/lib/dpkg/lock-frontend'
silent_about '^installed$'
judge 'a lock that is not released is a failure' 100
locked 1 300 'Unable to locate package'
silent_about '^installed$'
judge 'another failure of apt-get is one' 100

# job: what main_job of quickstart.sh shows if there are the commands in $has
job()
{
	bash -c '
		. "$1"
		command() { [[ " $has " == *" $2 "* ]]; }
		dapltest_job() { echo "dapltest transfers"; }
		own_job() { echo "examples transfer"; }
		main_job
		echo "shown: ${SHOWN:-}"' test "$src/quickstart.sh" >"$dir/out" 2>&1
	status=$?
}

has=dapltest
job
says '^dapltest transfers$'
judge 'dapltest is the main job where it is installed' 0
has=
job
says '^examples transfer$'
says '^shown: an example and dat_perf$'
silent_about 'dapltest transfers'
judge 'programs of the project are the main job where it is not' 0

limit=$(env -u TABLE_LIMIT bash -c '. "$1"; echo "$TABLE_LIMIT"' test "$src/quickstart.sh")
echo "limit: $limit s" >"$dir/out"
[ "$limit" -ge 1800 ] || problem="limit of $limit s"
status=0
judge 'a busy machine has half an hour and more' 0

# check_builds BUILDS: quickstart.sh check without packages and tests; a build for asan fails, there
# is no compiler for aarch64
check_builds()
{
	CHECK_BUILDS=$1 bash -c '
		. "$1"
		HERE=$2 LOG_DIR=$2/logs
		install_packages() { true; }
		check_build() { true; }
		check_tree() { PASSED=$((PASSED + 10)); echo "tests $1"; }
		check_verbs() { PASSED=$((PASSED + 100)); }
		prepare_verbs() { true; }
		build_one()
		{
			echo "built $1 $(chrt -p $BASHPID)"
			case $1 in
			asan) exit 3 ;;
			aarch64) return 77 ;;
			esac
		}
		check' test "$src/quickstart.sh" "$dir" >"$dir/out" 2>&1
	status=$?
}

check_builds "normal asan tsan clang cross verbs"
says '^tests build$'
says '^built asan '
silent_about 'tests build-asan'
says '^tests build-tsan$'
says '^122 passed, 1 failed, 1 skipped$'
says 'built clang .*SCHED_IDLE'
judge 'a build that fails while tests run is counted, and others go on' 1

check_builds "tsan clang"
silent_about 'built asan'
silent_about '^tests build$'
says '^11 passed, 0 failed, 0 skipped$'
judge 'only the selected builds are made' 0

# tier SECONDS FULL: what make runs in a tree whose turn comes after that time
tier()
{
	CHECK_FULL=$2 bash -c '
		. "$1"
		STARTED=$((SECONDS - $2))
		choose_tier
		echo "$tier, $SKIPPED skipped"' test "$src/quickstart.sh" "$1" >"$dir/out" 2>&1
	status=$?
}

tier 1700 ''
says '^check-all, 0 skipped$'
judge 'all tests run where there is time for them' 0
tier 1800 ''
says '^    skipped: the long tests'
says '^check, 1 skipped$'
judge 'a machine that is late leaves out the long tests, and says so' 0
tier 9000 1
says '^check-nightly, 0 skipped$'
judge 'CHECK_FULL=1 leaves nothing out' 0

# An argument that names no libfabric, and one that does, without a build.
"$src/quickstart.sh" help --libfabric "$dir" >"$dir/out" 2>&1
status=$?
says 'no libfabric.so.1 in'
judge 'a prefix without libfabric is refused' 1

# use_lf PROVIDER: a prefix whose libfabric has that provider. The variables of a check that runs this
# test do not count.
use_lf()
{
	printf '#!/bin/sh\necho "%s:"\n' "$1" >"$dir/lf/bin/fi_info"
	env -u CHECK_BUILDS -u LD_LIBRARY_PATH bash -c '
		. "$1"
		use_libfabric "$2"
		echo "$PKG_CONFIG_PATH $LD_LIBRARY_PATH $CHECK_BUILDS"' test "$src/quickstart.sh" "$dir/lf" \
		>"$dir/out" 2>&1
	status=$?
}

mkdir -p "$dir/lf/lib/pkgconfig" "$dir/lf/bin"
: >"$dir/lf/lib/libfabric.so.1"
: >"$dir/lf/bin/fi_info"
chmod +x "$dir/lf/bin/fi_info"
use_lf tcp
says "^$dir/lf/lib/pkgconfig $dir/lf/lib normal asan tsan clang\$"
judge 'a prefix with libfabric is used by builds and programs' 0
use_lf verbs
says "^$dir/lf/lib/pkgconfig $dir/lf/lib normal asan tsan clang verbs\$"
judge 'RDMA devices are tested with a libfabric that has the provider verbs' 0

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
