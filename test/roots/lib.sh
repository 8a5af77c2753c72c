# SPDX-License-Identifier: BSD-2-Clause
# Makes minimal Debian systems, each in a folder of its own, and runs commands in them. (sourced by bash)
#
# Root is needed, mmdebstrap or debootstrap, and the mirror that this machine's apt uses. Nothing
# of this machine is changed: mounts are in a namespace of their own, and the folder goes at the end.

SUITE=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
ROOT=

# skip REASON
skip()
{
	echo "skip: $1"
	exit 77
}

# apt_mirror: where this machine's packages of SUITE come from
apt_mirror()
{
	apt-get indextargets --format '$(CODENAME) $(SITE)' 'Created-By: Packages' 2>/dev/null |
		awk -v suite="$SUITE" '$1 == suite { print $2; exit }'
}

# root_possible [ARCHITECTURE]: skips, with the reason, where there can be none
root_possible()
{
	[ "$(id -u)" -eq 0 ] || skip "only root can make a minimal system"
	command -v mmdebstrap >/dev/null || command -v debootstrap >/dev/null ||
		skip "not installed: mmdebstrap (or debootstrap)"
	MIRROR=$(apt_mirror)
	[ -n "$MIRROR" ] || skip "apt names no mirror of Debian's ${SUITE:-(this is no Debian)}"
	unshare -m -p -f true 2>/dev/null || skip "no namespaces may be made here"
	case ${1:-} in
	'' | "$(dpkg --print-architecture)") ;;
	i386)
		[ "$(dpkg --print-architecture)" = amd64 ] || skip "i386 needs an amd64 machine"
		! command -v mmdebstrap >/dev/null || command -v arch-test >/dev/null ||
			skip "not installed: arch-test, which mmdebstrap needs for i386" ;;
	esac
}

# root_make LOG ARCHITECTURE PACKAGE...: sets ROOT; false, and the reason in LOG, if it cannot be had
root_make()
{
	local log=$1 arch=$2 packages
	shift 2
	packages=$(echo "$*" | xargs | tr ' ' ,)
	ROOT=$(mktemp -d "${TMPDIR:-/var/tmp}/dat-ofi-root.XXXXXX") || return 1
	if command -v mmdebstrap >/dev/null; then
		mmdebstrap --quiet --mode=root --variant=minbase --arch="$arch" \
			${packages:+--include="$packages"} "$SUITE" "$ROOT" "$MIRROR" \
			>"$log" 2>&1 </dev/null || return 1
	else
		debootstrap --variant=minbase --arch="$arch" ${packages:+--include="$packages"} \
			"$SUITE" "$ROOT" "$MIRROR" >"$log" 2>&1 </dev/null || return 1
	fi
	chmod 755 "$ROOT"
	cp -L /etc/resolv.conf /etc/hosts "$ROOT/etc/" 2>/dev/null
	cp /etc/apt/apt.conf.d/*proxy* "$ROOT/etc/apt/apt.conf.d/" 2>/dev/null
	mkdir -p "$ROOT/src"
}

# root_sources FOLDER: the contents of a tarball, without generated files
root_sources()
{
	tar -C "$1" -c --exclude='./build*' --exclude='./.git' --exclude='./deb-check' \
		--exclude='./autom4te.cache' --exclude='./configure' --exclude='./config' \
		--exclude='./dat-ofi-*' . | tar -C "$ROOT/src" -x
}

# root_run COMMAND...: in /src there, with a process table, and a loopback interface if ALONE is set
root_run()
{
	ALONE=${ALONE:-} unshare -m -p -f ${ALONE:+-n} bash -c '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sysfs "$root/sys"
		mkdir -p "$root/dev/shm" "$root/dev/pts"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" 2>/dev/null
		[ -z "$ALONE" ] || ip link set lo up
		exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			LANG=C.UTF-8 bash -c "cd /src && exec \"\$@\"" chroot "$@"' \
		root "$ROOT" "$@" </dev/null
}

# root_remove: the mounts have gone with the last process of root_run
root_remove()
{
	[ -z "$ROOT" ] || rm -rf --one-file-system "$ROOT"
	ROOT=
}
trap root_remove EXIT
trap 'exit 1' HUP INT TERM
