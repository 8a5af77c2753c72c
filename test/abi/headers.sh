#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the public headers hold the binary interface, and compile alone in every C and C++?
#
# Usage: headers.sh [include directory]
# Without argument: $top_srcdir/include, else the include directory of this source tree.
# Prints one line per combination that fails. Exit 0: none, 1: some, 77: no compiler.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
inc=${1:-${top_srcdir:-$here/../..}/include}
inc=$(cd "$inc" && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/dat-headers.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

strict='-pedantic-errors -Wall -Wextra -Werror -Wundef'
passed=0
failed=0
skipped=0

# found COMPILER: is it there and does it work?
found()
{
	command -v "$1" >/dev/null 2>&1 &&
		echo 'extern int x;' >"$work/found.c" &&
			"$1" -fsyntax-only "$work/found.c" 2>/dev/null
}

# speaks COMPILER OPTION LANGUAGE: does it accept the option, with a C library for it?
speaks()
{
	printf '#include <stdint.h>\n#include <sys/socket.h>\nextern int x;\n' >"$work/speaks.c"
	"$1" "$2" -x "$3" -fsyntax-only "$work/speaks.c" >/dev/null 2>&1
}

# verdict STATUS WHAT: count a result and show the first complaint of a failure
verdict()
{
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $2: $(grep -m1 'error' "$work/log" || head -n1 "$work/log")"
	fi
}

# compile COMPILER LANGUAGE NAME FILE [OPTION...]
compile()
{
	cc=$1 lang=$2 name=$3 file=$4
	shift 4
	timeout 60 "$cc" "$@" -x "$lang" -fsyntax-only -I"$inc" "$file" >"$work/log" 2>&1
	verdict $? "$cc $* $name"
}

# One source per public header, which is included twice and comes first where it may.
sources=
for header in "$inc"/dat/*.h "$inc"/dat2/*.h; do
	name=${header#"$inc"/}
	dir=${name%/*}
	source=$work/$(echo "$name" | tr '/.' '__').c
	{
		[ "${name#*/}" = dat_registry.h ] && echo "#include <$dir/udat.h>"
		printf '#include <%s>\n#include <%s>\nextern int x;\n' "$name" "$name"
	} >"$source"
	sources="$sources $name:$source"
done

compilers=
for cc in gcc clang; do
	found $cc && compilers="$compilers $cc:c"
done
for cc in g++ clang++; do
	found $cc && compilers="$compilers $cc:c++"
done
if [ -z "$compilers" ]; then
	echo "SKIP: neither gcc nor clang is there"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi

for entry in $compilers; do
	cc=${entry%%:*}
	lang=${entry#*:}
	case $lang in
	c)	modes='c89 c99 c11 c17' ;;
	c++)	modes='c++98 c++11 c++17' ;;
	esac
	for mode in $modes; do
		if ! speaks "$cc" "-std=$mode" "$lang"; then
			echo "SKIP $cc -std=$mode: not spoken"
			skipped=$((skipped + 1))
			continue
		fi
		# shellcheck disable=SC2086 # the options are words of their own
		for item in $sources; do
			compile "$cc" "$lang" "<${item%%:*}>" "${item#*:}" "-std=$mode" $strict
		done
		# shellcheck disable=SC2086
		for api in 1.2 2.0; do
			compile "$cc" "$lang" "use_$api.c" "$here/use_$api.c" "-std=$mode" $strict
		done
	done

	# The layout checks are written in GNU C; sizes and offsets of 32 bits need its C library.
	[ "$lang" = c ] || continue
	for option in -m64 -m32; do
		if ! speaks "$cc" $option c; then
			echo "SKIP $cc $option: no C library for it"
			skipped=$((skipped + 1))
			continue
		fi
		for mode in gnu89 gnu99 gnu11 gnu17; do
			for api in 1.2 2.0; do
				compile "$cc" c "abi_check_$api.c" "$here/abi_check_$api.c" \
					"-std=$mode" $option
			done
		done
	done
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
