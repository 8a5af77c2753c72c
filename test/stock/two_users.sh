#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the helpers of the stock tests as two users of one machine, one after the other.
set -u
src=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0 skipped=0

if [ "$(id -u)" -ne 0 ] || ! setpriv --reuid 65534 --regid 65534 --clear-groups true; then
	echo "skip: only root can run something as another user"
	exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-users.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cp "$src/lib.sh" "$dir"
chmod 755 "$dir"

# machine: a new machine-wide folder for temporary files
machine()
{
	rm -rf "$dir/tmp"
	mkdir -m 1777 "$dir/tmp"
}

# user UID COMMANDS: runs them as that user after stock_config; their output is in $dir/log
user()
{
	local out=$dir/tmp/out-$1
	mkdir -p "$out"
	chown "$1" "$out"
	(cd "$dir" && TMPDIR=$dir/tmp BUILD=$dir OUT=$out LIBDAT2=/x LIBPROV2=/x FABRIC=tcp \
		setpriv --reuid "$1" --regid "$1" --clear-groups bash -c '
			. ./lib.sh
			OUT=$0
			stock_config ours builtin:ofi-tcp 127.0.0.1 none users
			eval "$1"' "$out" "$2") >"$dir/log" 2>&1
}

# judge STATUS NAME: the last user's commands succeeded, and wrote nothing
judge()
{
	if [ "$1" -eq 0 ] && [ ! -s "$dir/log" ]; then
		passed=$((passed + 1))
		echo "ok $2"
	else
		failed=$((failed + 1))
		echo "not ok $2 (exit status $1, $(wc -l <"$dir/log") lines)"
		head -n 5 "$dir/log" | sed 's/^/    /'
	fi
}

for first in 0 65534; do
	second=$((65534 - first))
	machine
	user "$first" 'claim_ports && with_lock dtest true'
	judge $? "user $first claims ports and takes a lock"
	user "$second" 'claim_ports && with_lock dtest true'
	judge $? "user $second does so, after user $first"
done

machine
mkdir -m 755 "$dir/tmp/dat-ofi-stock-locks-65534"
user 65534 'claim_ports && with_lock dtest true'
judge $? "another user's folder of that name is not used"
machine
mkdir -m 777 "$dir/tmp/target"
ln -s "$dir/tmp/target" "$dir/tmp/dat-ofi-stock-locks-0"
user 0 'claim_ports && with_lock dtest true'
judge $? "a link of that name does no harm"
[ -z "$(ls "$dir/tmp/target")" ]
judge $? "a link of that name is not followed"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
