# SPDX-License-Identifier: BSD-2-Clause
# Where does a kernel with software RDMA devices come from? (sourced by vm)
#
# Debian's kernel package is downloaded and unpacked, never installed. It has rdma_rxe but not
# siw, which is built from the same package's source; where that cannot be had, the guest does
# without siw0.

KERNEL_PACKAGE=linux-image-amd64
# What the guest needs before it sees this machine's files.
BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay)

# need PROGRAM PACKAGE ...: all of these programs, or no virtual machine
need()
{
	local missing=()
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || missing+=("$2")
		shift 2
	done
	[ ${#missing[@]} -eq 0 ] || skip "not installed: ${missing[*]}"
}

# download FOLDER PACKAGE...: needs no rights
download()
{
	local folder=$1
	shift
	mkdir -p "$folder"
	( cd "$folder" && apt-get -o APT::Sandbox::User=root download "$@" ) >"$CACHE/apt.log" 2>&1
}

# package_name: the real package behind the name that always means the newest
package_name()
{
	local package=$KERNEL_PACKAGE next
	while next=$(apt-cache depends --important "$package" 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1) &&
		[ -n "$next" ]; do
		package=$next
	done
	echo "$package"
}

# plain_kernel IMAGE FILE: a packed image unpacks itself, which takes seconds when emulated. QEMU
# boots the ELF file inside as well.
plain_kernel()
{
	local magic tool at
	while read -r magic tool; do
		at=$(LC_ALL=C grep -aboP -m 1 "$magic" "$1" | head -n 1 | cut -d: -f1)
		[ -n "$at" ] || continue
		tail -c "+$((at + 1))" "$1" | $tool -dcq >"$2" 2>/dev/null
		[ "$(head -c 4 "$2")" != $'\x7fELF' ] || return 0
	done <<-'END'
	\xFD7zXZ\x00 xz
	\x28\xB5\x2F\xFD zstd
	\x1F\x8B\x08 gzip
	END
	return 1
}

# unpack_kernel FOLDER PACKAGE: vmlinux and lib/modules
unpack_kernel()
{
	local folder=$1 package=$2 release
	rm -rf "$folder.new"
	download "$folder.new/deb" "$package" ||
		skip "$package cannot be downloaded ($CACHE/apt.log)"
	dpkg --fsys-tarfile "$folder.new"/deb/*.deb |
		tar -x -C "$folder.new" --exclude='*/sound' --exclude='*/drivers/gpu' \
			--exclude='*/drivers/media' --exclude='*/drivers/staging' \
			./boot ./lib/modules ||
		broke "$package cannot be unpacked"
	release=$(ls "$folder.new/lib/modules")
	plain_kernel "$folder.new/boot/vmlinuz-$release" "$folder.new/vmlinux" ||
		broke "no kernel found in $package"
	find "$folder.new/lib/modules" -name '*.ko.xz' -exec xz -d {} +
	busybox depmod -b "$folder.new" "$release"
	rm -rf "$folder.new/deb" "$folder.new/boot"
	rm -rf "$folder"
	mv "$folder.new" "$folder"
}

# build_siw FOLDER RELEASE: the module that Debian leaves out
build_siw()
{
	local folder=$1 release=$2 tmp=$1/siw base depends source deb
	base=$(grep -oE '^[0-9]+\.[0-9]+' <<<"$release")
	source=linux-source-$base/drivers/infiniband/sw/siw
	depends=$(apt-cache depends --important "linux-headers-$release" |
		sed -nE 's/^ *Depends: (linux-(headers-.*-common|kbuild-.*))$/\1/p')
	rm -rf "$tmp"
	download "$tmp" "linux-headers-$release" $depends "linux-source-$base" || return
	(
		set -e
		cd "$tmp"
		for deb in linux-headers*.deb linux-kbuild*.deb; do
			dpkg -x "$deb" .
		done
		dpkg --fsys-tarfile linux-source*.deb |
			tar -xO "./usr/src/linux-source-$base.tar.xz" | xz -dc | tar -x "$source"
		# The headers expect to be below /usr/src.
		sed -i "s#/usr/src#$tmp/usr/src#" "usr/src/linux-headers-$release/Makefile"
		make -C "usr/src/linux-headers-$release" M="$tmp/$source" CC=gcc CONFIG_RDMA_SIW=m \
			CONFIG_DEBUG_INFO_BTF_MODULES= modules
		install -D -m 644 "$source/siw.ko" "$folder/lib/modules/$release/extra/siw.ko"
		busybox depmod -b "$folder" "$release"
	) >"$folder/siw.log" 2>&1
	rm -rf "$tmp"
}

# build_initramfs FOLDER RELEASE: mounts this machine's files and hands over to guest.sh's script
build_initramfs()
{
	local folder=$1 release=$2 tmp=$1/initramfs.tmp from to module file files
	from=$folder/lib/modules/$release to=$tmp/lib/modules/$release
	rm -rf "$tmp"
	mkdir -p "$tmp"/{bin,dev,proc,sys,lower,rw,root} "$to"
	cp "$(command -v busybox)" "$tmp/bin/busybox"
	for module in "${BOOT_MODULES[@]}"; do
		files=$(grep "/$module\.ko:" "$from/modules.dep") || continue	# built in
		echo "$module" >>"$tmp/modules"
		for file in ${files/:/}; do
			grep "^$file:" "$from/modules.dep" >>"$to/modules.dep"
			install -D "$from/$file" "$to/$file"
		done
	done
	sort -u -o "$to/modules.dep" "$to/modules.dep"
	write_first_stage "$tmp/init"
	( cd "$tmp" && find . | cpio -o -H newc --quiet ) >"$folder/initramfs.part" &&
		mv "$folder/initramfs.part" "$folder/initramfs"
	rm -rf "$tmp"
}

# What the cache takes while a kernel is unpacked and siw is built.
MIB_TO_PREPARE=1000

# disk_here: MiB free where the cache is
disk_here()
{
	df -Pm "$CACHE" | awk 'NR == 2 { print $4 }'
}

# prepare_kernel: sets KERNEL_FOLDER, KERNEL_RELEASE and HAVE_SIW. One run at a time.
prepare_kernel()
{
	local lock package
	[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86_64"
	need qemu-system-x86_64 qemu-system-x86 busybox busybox-static cpio cpio ip iproute2 \
		rdma iproute2 apt-get apt dpkg dpkg xz xz-utils flock util-linux
	[ -e /etc/libibverbs.d/rxe.driver ] || skip "not installed: ibverbs-providers"
	exec {lock}>"$CACHE/lock"
	flock "$lock"
	if [ ! -e "$CACHE/kernel/vmlinux" ]; then
		[ "$(disk_here)" -ge $MIB_TO_PREPARE ] ||
			skip "$CACHE needs $MIB_TO_PREPARE MiB, there are $(disk_here)"
		package=$(package_name)
		unpack_kernel "$CACHE/$package" "$package"
		ln -sfn "$package" "$CACHE/kernel"
	fi
	KERNEL_FOLDER=$(readlink -f "$CACHE/kernel")
	KERNEL_RELEASE=$(ls "$KERNEL_FOLDER/lib/modules")
	HAVE_SIW=$KERNEL_FOLDER/lib/modules/$KERNEL_RELEASE/extra/siw.ko
	# A log shows that it was tried, the folder that it was interrupted.
	if [ ! -e "$KERNEL_FOLDER/siw.log" ] || [ -d "$KERNEL_FOLDER/siw" ]; then
		build_siw "$KERNEL_FOLDER" "$KERNEL_RELEASE"
	fi
	if [ ! -e "$HAVE_SIW" ]; then
		echo "vm: no siw0: its module could not be built, see $KERNEL_FOLDER/siw.log" >&2
		HAVE_SIW=
	fi
	[ "$KERNEL_FOLDER/initramfs" -nt "$HERE/guest.sh" ] ||
		build_initramfs "$KERNEL_FOLDER" "$KERNEL_RELEASE" || broke "no initramfs"
	exec {lock}>&-
}
