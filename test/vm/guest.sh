# SPDX-License-Identifier: BSD-2-Clause
# What does the guest do before and after its command? (sourced by vm)

# write_first_stage FILE: process 1 until this machine's files are there
write_first_stage()
{
	cat >"$1" <<-'END'
	#!/bin/busybox sh
	/bin/busybox --install -s /bin
	export PATH=/bin
	fail() { echo "vm: $*"; reboot -f; }
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	for m in $(cat /modules); do
		modprobe $m || fail "cannot load $m"
	done
	p9=trans=virtio,version=9p2000.L,msize=512000
	mount -t 9p -o ro,$p9,cache=loose host /lower || fail "cannot mount the host's files"
	mount -t tmpfs -o mode=755 rw /rw && mkdir /rw/upper /rw/work &&
	mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work root /root ||
		fail "cannot mount the layer above them"
	mount -t tmpfs -o mode=755 run /root/run && mkdir /root/run/dat-ofi-vm &&
	# Not cached: output is to be seen outside as it is written.
	mount -t 9p -o $p9,cache=none control /root/run/dat-ofi-vm || fail "no control files"
	for d in proc sys dev; do
		mount --move /$d /root/$d
	done
	exec switch_root /root /bin/bash /run/dat-ofi-vm/init
	END
	chmod +x "$1"
}

# write_command FILE COMMAND...: with the environment and the folder of the caller
write_command()
{
	local file=$1
	shift
	{
		export -p | grep -v '^declare -[a-z]*r'	# those are bash's own
		printf 'ulimit -Sn %q\n' "$(ulimit -Sn)"
		printf 'export DAT_VM=1\n'
		printf 'cd %q || exit 125\n' "$PWD"
		printf 'exec'
		printf ' %q' "$@"
		printf '\n'
	} >"$file"
}

# write_guest FILE: process 1 from then on
write_guest()
{
	{
		printf 'shared=%q modules=%q siw=%q allowed=%q\n' "$SHARE" \
			"$KERNEL_FOLDER/lib/modules/$KERNEL_RELEASE" "$HAVE_SIW" "$SECONDS_ALLOWED"
		second_stage
	} >"$1"
}

second_stage()
{
	cat <<-'END'
	export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	control=/run/dat-ofi-vm
	finish()
	{
		dmesg >$control/dmesg 2>/dev/null
		echo "$1" >$control/status
		sync
		echo b >/proc/sysrq-trigger	# a reset, at which QEMU ends
		sleep 60
	}
	trap 'finish 125' EXIT
	exec </dev/null >/dev/console 2>&1

	# What udev would have done.
	ln -s /proc/self/fd /dev/fd
	ln -s fd/0 /dev/stdin; ln -s fd/1 /dev/stdout; ln -s fd/2 /dev/stderr
	mkdir -p /dev/pts /dev/shm /run/lock
	mount -t devpts devpts /dev/pts
	mount -t tmpfs -o mode=1777 shm /dev/shm
	mkdir -p "$shared" "/lib/modules/$(uname -r)"
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap shared "$shared"
	mount --bind "$modules" "/lib/modules/$(uname -r)"
	# The kernel itself loads modules through this. The modprobe of kmod does not read the
	# index that busybox has written.
	ln -s "$(command -v busybox)" /run/modprobe
	echo /run/modprobe >/proc/sys/kernel/modprobe
	# libfabric reads all kernel symbols at the first fi_getinfo of a process:
	# seconds, when emulated, for a question that does not arise here.
	mount --bind /dev/null /proc/kallsyms
	hostname dat-ofi-vm
	printf '%s\n' '127.0.0.1 localhost' '127.0.1.1 dat-ofi-vm' '10.77.0.1 roce0' \
		'10.77.1.1 iwarp0' >>/etc/hosts
	# The guest's clock begins at a whole second; a new file has the time outside.
	: >$control/clock
	date -s "@$(stat -c %.Y $control/clock)" >/dev/null
	ulimit -l unlimited
	ulimit -c 0
	ulimit -Hn 1048576

	busybox modprobe dummy numdummies=0
	busybox modprobe -a rdma_rxe rdma_ucm ib_umad
	ip link set lo up
	# device NAME KIND INTERFACE ADDRESS ADDRESS6
	device()
	{
		ip link add "$3" mtu 9000 type dummy
		ip addr add "$4" dev "$3"
		ip addr add "$5" dev "$3" nodad
		ip link set "$3" up
		rdma link add "$1" type "$2" netdev "$3"
	}
	device rxe0 rxe roce0 10.77.0.1/24 fd77::1/64 || exit
	if [ -n "$siw" ] && busybox modprobe siw; then
		device siw0 siw iwarp0 10.77.1.1/24 fd77:1::1/64
	fi
	rdma link
	echo up >$control/up

	limit=
	[ "$allowed" = 0 ] || limit="timeout --kill-after=5 $allowed"
	$limit bash $control/command >>$control/stdout 2>>$control/stderr
	status=$?
	trap - EXIT
	finish $status
	END
}
