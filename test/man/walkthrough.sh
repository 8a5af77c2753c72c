#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Executes docs/walkthrough.md: each command of a "console" block, in one shell, in a folder with the
# examples. The output must be what the page shows; "..." stands for any text, as a line for any lines.
# Run from the top of a build tree.
set -u
. "${srcdir:-.}/test/man/lib.sh"
limit=${TEST_LIMIT:-300}
page=$src/docs/walkthrough.md

# The port of the page may be in use here.
port=$((20005 + $$ % 5000))
while (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
	port=$((port + 1))
done

mkdir "$dir/examples" "$dir/output"
cp "$src"/examples/*.[ch] "$dir/examples"

# Commands, as a script that marks where the output of each begins; "NUMBER TEXT" for the output of each.
awk -v script="$dir/script" -v want="$dir/want" -v names="$dir/names" -v port="$port" '
	/^```/ { inside = $0 == "```console"; next }
	!inside { next }
	/^\$ / { print substr($0, 3) >names }
	{ gsub(/20005/, port) }
	/^\$ / {
		n++
		printf "exec >\"$output/%d\" 2>&1\n%s\n", n, substr($0, 3) >script
		next
	}
	{ print n " " $0 >want }' "$page"

unset DAT_OVERRIDE DAT_DBG_TYPE DAPL_DBG_TYPE
for name in $(env | sed -n 's/^\(DAPL_OFI_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
export CPATH=$src/include LIBRARY_PATH=$PWD/.libs output=$dir/output
export LD_LIBRARY_PATH=$PWD/.libs:$PWD/prov_ofi/dat2/.libs:$PWD/prov_ofi/dat1/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$PWD/tools/info:$PWD/tools/run:$PWD/tools/top:$PATH
(cd "$dir/examples" && exec timeout -k 5 "$limit" bash "$dir/script") </dev/null
ended=$?

# matches LINE SHOWN: SHOWN may contain "..."
matches()
{
	local pattern
	pattern=$(sed 's/[^a-zA-Z0-9 ]/\\&/g; s/\\\.\\\.\\\./*/g' <<<"$2")
	[[ $1 == $pattern ]]
}

# compare OUTPUT SHOWN: prints the first difference
compare()
{
	local line shown skip=
	exec 3<"$1"
	while IFS= read -r shown; do
		if [ "$shown" = ... ]; then
			skip=1
			continue
		fi
		while :; do
			IFS= read -r line <&3 || {
				echo "missing: $shown"
				return
			}
			matches "$line" "$shown" && break
			[ -n "$skip" ] || {
				echo "expected: $shown"
				echo "printed:  $line"
				return
			}
		done
		skip=
	done <"$2"
	[ -n "$skip" ] || ! IFS= read -r line <&3 || echo "not shown: $line"
}

n=0
while IFS= read -r name; do
	n=$((n + 1))
	sed -n "s/^$n //p" "$dir/want" >"$dir/shown"
	if [ -f "$dir/output/$n" ]; then
		compare "$dir/output/$n" "$dir/shown" >"$dir/log"
		[ ! -s "$dir/log" ] || { echo 'all output:'; cat "$dir/output/$n"; } >>"$dir/log"
	else
		echo "not executed: an earlier command did not end" >"$dir/log"
	fi
	silent "$n: $name"
done <"$dir/names"
: >"$dir/log"
[ "$n" -ge 20 ] || echo "only $n commands found" >>"$dir/log"
[ "$ended" -eq 0 ] || echo "the shell ended with status $ended" >>"$dir/log"
silent 'all commands of the page are executed'

finish
