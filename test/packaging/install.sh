#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks what "make install" installs, which folders configure refuses, the versions of recipes, and what git
# ignores. Run from the top of a build tree.
set -u
src=$(cd "${srcdir:-.}" && pwd)
passed=0 failed=0 skipped=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-install.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR

# silent NAME: the case holds if $dir/log is empty
silent()
{
	if [ -s "$dir/log" ]; then
		failed=$((failed + 1))
		echo "not ok $1"
		head -n 20 "$dir/log" | sed 's/^/    /'
	else
		passed=$((passed + 1))
		echo "ok $1"
	fi
}

# variable NAME...: what make has for them
variable()
{
	printf 'show:\n\t@echo %s\n' "$(printf '$(%s) ' "$@")" | make -s -f Makefile -f - show
}

# ---------------------------------------------------------------- make install

(cd "$src" && ls LICENSE NEWS.md README.md docs/*.md) >"$dir/names"
(
	make -s install-data DESTDIR="$dir/root" >"$dir/make" 2>&1 || cat "$dir/make"
	doc=$dir/root$(variable docdir)
	while read -r file; do
		cmp "$src/$file" "$doc/${file##*/}" 2>&1
	done <"$dir/names"
	[ "$(wc -l <"$dir/names")" -ge 7 ] || echo 'too few documents found'
	# What the documents show.
	(cd "$src/docs" && sed -n 's/^!\[.*\](\(.*\))$/\1/p' ./*.md) >"$dir/pictures"
	while read -r file; do
		cmp "$src/docs/$file" "$doc/$file" 2>&1
	done <"$dir/pictures"
	[ "$(wc -l <"$dir/pictures")" -ge 5 ] || echo 'too few pictures found'
) >"$dir/log"
silent 'the licence, all documents and their pictures are installed'

# ---------------------------------------------------------------- CMake

# project COMPONENTS: configures and builds a program of each version against the installed
# description, whose directories are replaced by those of the trees
project()
{
	rm -rf "$dir/cmake"
	mkdir "$dir/cmake" && cat >"$dir/cmake/CMakeLists.txt" <<-END
	cmake_minimum_required(VERSION 3.10)
	project(judge C)
	find_package(DAT REQUIRED CONFIG COMPONENTS $1)
	add_executable(one "$dir/one.c")
	target_link_libraries(one PRIVATE DAT::dat)
	add_executable(two "$src/examples/hello_client.c")
	target_link_libraries(two PRIVATE DAT::dat2)
	END
	cmake -S "$dir/cmake" -B "$dir/cmake/build" -DDAT_DIR="$dir/DAT" >"$dir/cmake.log" 2>&1 &&
		cmake --build "$dir/cmake/build" >>"$dir/cmake.log" 2>&1
}

if command -v cmake >/dev/null; then
	(
		read -r cmakedir libdir includedir < <(variable cmakedir libdir includedir)
		mkdir "$dir/DAT"
		sed "s|\"$libdir/|\"$PWD/.libs/|; s|\"$includedir\"|\"$src/include\"|" \
			"$dir/root$cmakedir/DATConfig.cmake" >"$dir/DAT/DATConfig.cmake"
		cat >"$dir/one.c" <<-'END'
			#include <dat/udat.h>
			int main(void)
			{
				const char *major, *minor;

				return (int)dat_strerror(DAT_SUCCESS, &major, &minor);
			}
		END
		project 'dat dat2' || tail -n 5 "$dir/cmake.log"
		readelf -d "$dir/cmake/build/one" 2>&1 | grep -q 'NEEDED.*\[libdat.so.1\]' ||
			echo 'the program for 1.2 is not linked to libdat.so.1'
		readelf -d "$dir/cmake/build/two" 2>&1 | grep -q 'NEEDED.*\[libdat2.so.2\]' ||
			echo 'the program for 2.0 is not linked to libdat2.so.2'
		! project dat3 || echo 'an unknown component is found'
		grep -q 'no dat3' "$dir/cmake.log" || echo 'the unknown component is not named'
	) >"$dir/log" 2>&1
	silent 'CMake finds both libraries'
else
	skipped=$((skipped + 1))
	echo 'skip CMake finds both libraries: not installed: cmake'
fi

# ---------------------------------------------------------------- configure

# refused OPTION: configure ends before it looks for a compiler, and names the folder
refused()
{
	local status
	mkdir -p "$dir/configure"
	(cd "$dir/configure" && timeout 60 "$src/configure" "$1" >out 2>&1 </dev/null)
	status=$?
	[ $status -eq 1 ] || echo "$1: exit status $status"
	grep -qF "\"${1#*=}\": it has a blank in its name" "$dir/configure/out" ||
		tail -n 3 "$dir/configure/out"
	! grep -q 'checking for gcc' "$dir/configure/out" || echo "$1: refused late"
}

for option in --prefix='/opt/my dat' --libdir='/opt/my dat/lib' --with-dat-conf='/etc/my dat.conf'; do
	refused "$option"
done >"$dir/log"
silent 'configure refuses a folder with a blank at once'

# ---------------------------------------------------------------- recipes

recipe=$src/packaging/spack/spack_repo/dat_ofi/packages/dat_ofi/package.py
(
	version=$(sed -n 's/^AC_INIT(\[dat-ofi\], \[\(.*\)\])$/\1/p' "$src/configure.ac")
	[ -n "$version" ] || echo 'configure.ac: no version found'
	while IFS=: read -r file line; do
		grep -qF -e "$line" "$src/$file" || echo "$file lacks: $line"
	done <<-END
		debian/changelog:dat-ofi ($version)
		packaging/dat-ofi.spec:Version:        $version
		${recipe#"$src"/}:version("$version")
		docs/packaging.md:dat-ofi-$version.tar.xz
		docs/packaging.md:spack add dat-ofi@$version
		docs/packaging.md:spack develop --path "\$PWD" dat-ofi@$version
	END
) >"$dir/log"
silent 'all recipes have the version of configure.ac'

if command -v python3 >/dev/null; then
	python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipe" >"$dir/log" 2>&1
	silent 'the recipe for Spack is valid Python'
else
	skipped=$((skipped + 1))
	echo 'skip the recipe for Spack is valid Python: not installed: python3'
fi

# ---------------------------------------------------------------- git

if git -C "$src" rev-parse --is-inside-work-tree >/dev/null 2>&1 &&
	[ "$(git -C "$src" rev-parse --show-toplevel)" = "$src" ]; then
	variable bin_PROGRAMS check_PROGRAMS | xargs -n 1 >"$dir/programs"
	(
		cd "$src" && git check-ignore --no-index --verbose --non-matching --stdin |
			sed -n 's/^::\t/not ignored: /p'
		[ "$(wc -l <"$dir/programs")" -ge 40 ] || echo 'too few programs found'
	) <"$dir/programs" >"$dir/log"
	silent 'git ignores every program that a build in the source tree makes'
else
	skipped=$((skipped + 1))
	echo 'skip git ignores programs: the sources are no git repository'
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
