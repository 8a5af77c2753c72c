#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the tarball of "make dist" has the same bytes when it is made again, later, with another
# umask, and from another build tree. Run from the top of a build tree.
set -u
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-dist.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR SOURCE_DATE_EPOCH

# tarball FOLDER UMASK: makes it there
tarball()
{
	mkdir "$dir/$1"
	(
		umask "$2"
		cd "$dir/$1" && "$src/configure" -q >log 2>&1 && make -s dist >>log 2>&1
	) || { tail -n 5 "$dir/$1/log"; return 1; }
	sha256sum <"$(echo "$dir/$1"/*.tar.xz)" >"$dir/$1.sum"
}

if [ -e "$src/config.status" ]; then
	echo 'skip make dist makes the same bytes: the source tree is configured'
	echo '0 passed, 0 failed, 1 skipped'
	exit 77
fi
if tarball one 022 && sleep 1.1 && tarball two 077 && cmp "$dir/one.sum" "$dir/two.sum"; then
	echo 'ok make dist makes the same bytes'
	echo '1 passed, 0 failed, 0 skipped'
else
	echo 'not ok make dist makes the same bytes'
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi
