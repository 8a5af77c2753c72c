#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the Debian packages build, can be installed next to libdapl2, instead of it, and be
# removed without a trace? Run by "make deb-check" with the tarball of "make dist".
# What is installed goes into a private overlay of this machine's files, which is
# gone at the end; root is needed for that.
set -u
tarball=$(realpath "$1") here=${3:-$PWD/deb-check}
passed=0 failed=0 skipped=0
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH) || exit 1
private=/usr/lib/$triplet/dat-ofi
packages='libdat1-ofi libdat2-ofi dat-ofi-default libdat-ofi-dev dat-ofi-utils dat-ofi-doc'

# ok NAME COMMAND...
ok()
{
	local name=$1
	shift
	if "$@" >"$here/last.log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		echo "ok $name"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $name"
	tail -n "${LINES_SHOWN:-25}" "$here/last.log" | sed 's/^/    /'
	return 1
}

skip()
{
	skipped=$((skipped + 1))
	echo "skip $1: $2"
}

finish()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit
}

build()
{
	(cd "$here" && tar xf "$tarball" && cd dat-ofi-*/ &&
		DEB_BUILD_OPTIONS="nocheck parallel=${DEB_JOBS:-1}" dpkg-buildpackage -us -uc -b)
}

# ---------------------------------------------------------------- inside the overlay

debs()
{
	local name
	for name; do
		ls "$here/$name"_*.deb
	done
}

install()
{
	# shellcheck disable=SC2046
	dpkg -i $(debs "$@") && ldconfig -p >/dev/null
}

remove()
{
	dpkg --purge "$@"
}

# loads PROGRAM PATTERN: where the loader finds libdat2 for it
loads()
{
	ldd "$1" | grep -E "libdat2.so.2 => $2"
}

# ran TEXT COMMAND...: ends with 0 and has this in its output
ran()
{
	local text=$1 out
	shift
	out=$(timeout 120 "$@" 2>&1 </dev/null) || { echo "$out"; return 1; }
	echo "$out"
	grep -qF -- "$text" <<<"$out"
}

compiles()
{
	local flags
	flags=$(pkg-config --cflags --libs dat2) || return
	grep -q "$private" <<<"$flags" || { echo "$flags"; return 1; }
	# shellcheck disable=SC2086
	gcc -o /root/hello /usr/share/doc/dat-ofi-doc/examples/hello_server.c $flags &&
		readelf -d /root/hello | grep -F '[libdat2.so.2]'
}

# free_port: a port without a listener
free_port()
{
	local port
	while port=$((20000 + RANDOM % 10000)); (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		:
	done
	echo "$port"
}

# traces: files that are left
traces()
{
	local left
	left=$(find /usr /etc /var/lib/dpkg/info \( -name '*dat-ofi*' -o -name 'libdat[12]-ofi*' \
		-o -name 'libdaplofi*' -o -name 'dat_info*' -o -name '_dat_ofi' \) \
		-not -path '/usr/local/*')
	echo "$left"
	[ -z "$left" ] && ! ldconfig -p | grep dat-ofi
}

untouched()
{
	dpkg -V libdapl2 dapl2-utils && loads /usr/bin/dtest "/lib/$triplet/"
}

next_to_libdapl2()
{
	local port
	ok 'install next to libdapl2' install libdat1-ofi libdat2-ofi libdat-ofi-dev \
		dat-ofi-utils dat-ofi-doc || finish
	ok "libdapl2's files are untouched and used" untouched
	ok 'a program for development compiles' compiles
	ok 'dat_info opens ofi-tcp of ours' ran "$private" \
		env LD_LIBRARY_PATH="$private" DAT_OVERRIDE=/dev/null dat_info -v ofi-tcp
	ok 'dat_perf runs' ran lat dat_perf --fabrics tcp --iters 20 --rounds 1 --test lat
	port=$(free_port)
	ok 'dat_run runs dapltest' ran passed dat_run -f tcp \
		--server "dapltest -T S -D x -n $port" --port "$port" --expect 'Stats ----' -- \
		dapltest -T T -s localhost -D x -n "$port" -V client SR 256 1 server SR 256 1
	ok 'the manual pages are found' man -w dat_info dat_ep_connect dat.conf-ofi prov_ofi
	ok 'dat-ofi-default can be installed' install dat-ofi-default
	ok 'then the loader takes ours' loads /usr/bin/dtest "$private/"
	ok 'and it opens ofi-tcp' ran "$private" env DAT_OVERRIDE=/dev/null dat_info -v ofi-tcp
	ok 'installing again changes nothing' install dat-ofi-default
	ok 'then still ours' loads /usr/bin/dtest "$private/"
	ok 'dat-ofi-default can be removed' dpkg -r dat-ofi-default
	ok "then the loader takes libdapl2's" untouched
}

instead()
{
	ok 'install without libdapl2' install libdat1-ofi libdat2-ofi dat-ofi-default dat-ofi-utils
	ok 'the loader takes ours' ran "$private" ldconfig -p
	ok 'dat_info opens ofi-tcp without a dat.conf' ran "$private" dat_info -v ofi-tcp
	ok 'remove all' remove dat-ofi-default dat-ofi-utils libdat1-ofi libdat2-ofi
	ok 'no trace is left' traces
}

inside()
{
	# dpkg of a container may be told to leave out documentation, which we look for
	sed -i 's/^path-exclude/#&/' /etc/dpkg/dpkg.cfg /etc/dpkg/dpkg.cfg.d/* 2>/dev/null
	if dpkg -s libdapl2 dapl2-utils >/dev/null 2>&1; then
		next_to_libdapl2
		# shellcheck disable=SC2086
		ok 'remove all' remove $packages
		ok 'no trace is left' traces
		ok 'libdapl2 can be removed' dpkg --purge dapl2-utils libdapl2
	else
		skip 'next to libdapl2' 'libdapl2 or dapl2-utils are not installed'
	fi
	instead
	finish
}

# Before the overlay is there: it needs a file system that can be an upper layer, such as tmpfs.
overlay()
{
	local at=$here/overlay
	mkdir -p "$at" && mount -t tmpfs none "$at" && mkdir "$at/upper" "$at/work" "$at/root" &&
		mount -t overlay overlay "$at/root" \
			-o "lowerdir=/,upperdir=$at/upper,workdir=$at/work" &&
		mount --rbind /proc "$at/root/proc" && mount --rbind /dev "$at/root/dev" &&
		mount --rbind /sys "$at/root/sys" && mkdir -p "$at/root$here" &&
		mount --bind "$here" "$at/root$here" || return 77
	exec chroot "$at/root" /bin/bash "$here/deb_check.sh" "$tarball" inside "$here"
}

case ${2:-} in
inside) cd / && inside ;;
overlay) overlay ;;
esac

# ---------------------------------------------------------------- outside

rm -rf "$here" && mkdir -p "$here" && cp "$0" "$here/deb_check.sh" || exit 1
echo "building in $here"
ok 'dpkg-buildpackage' build || finish
if command -v lintian >/dev/null 2>&1; then
	ok 'lintian' lintian --allow-root --fail-on error,warning "$here"/*.changes
	sed 's/^/    /' "$here/last.log"
else
	skip lintian 'not installed'
fi
for name in $packages; do
	ok "$name is there" ls "$here/$name"_*.deb
done

unshare -m true 2>/dev/null || { skip 'install and remove' 'not root'; finish; }
unshare -m /bin/bash "$here/deb_check.sh" "$tarball" overlay "$here" >"$here/inside.log" 2>&1
grep -v ' passed, ' "$here/inside.log"
read -r p f s <<<"$(awk '/^[0-9]+ passed, / { print $1 + 0, $3 + 0, $5 + 0 }' "$here/inside.log")"
[ -n "${p:-}" ] || { skip 'install and remove' 'no overlay'; p=0 f=0 s=0; }
passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
finish
