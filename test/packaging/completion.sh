#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the completions of bash and zsh offer exactly the options of --help, and only values
# that the tools take? Run from the top of a build tree.
set -u
src=$(cd "${srcdir:-.}" && pwd)
bash_file=$src/etc/completion/dat_ofi.bash zsh_file=$src/etc/completion/_dat_ofi
passed=0 failed=0 skipped=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-completion.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

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

skip()
{
	skipped=$((skipped + 1))
	echo "skip $1: $2"
}

tool()
{
	timeout 60 "tools/${1#dat_}/$1" "${@:2}"
}

# help_options TOOL: the options at the start of the lines of --help, or after another one there
help_options()
{
	tool "$1" --help >"$dir/help" 2>&1 || return
	sed -n 's/^ \{1,8\}\(-.*\)/\1/p' "$dir/help" | sed 's/  .*//' |
		grep -oE '(^|[ ,])--?[A-Za-z][A-Za-z-]*' | tr -d ' ,' >"$dir/words"
	grep -oE '^  -[a-zA-Z], --[a-z-]+ +-[a-zA-Z], --[a-z-]+$' "$dir/help" |
		grep -oE -- '--?[A-Za-z][A-Za-z-]*' >>"$dir/words"
	sort -u "$dir/words"
}

# offered WORDS...: the completions of bash at the end of this line
offered()
{
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
	"_$1"
	printf '%s\n' "${COMPREPLY[@]}"
}

# expect 'LINE' WORDS...: bash offers exactly these; "$" is the empty word at the end of a line
expect()
{
	local words
	read -ra words <<<"$1"
	[ "${words[-1]}" != '$' ] || words[-1]=
	diff <(printf '%s\n' "${@:2}" | sort) <(offered "${words[@]}" | sort) >"$dir/log"
	silent "bash: $1"
}

# ---------------------------------------------------------------- bash

. "$bash_file"

for name in dat_info dat_perf dat_run dat_top; do
	help_options "$name" >"$dir/help_options"
	[ "$(wc -l <"$dir/help_options")" -ge 14 ] || echo "too few options in --help" >"$dir/help_options"
	offered "$name" - | grep -vx -- -- | sort -u | diff "$dir/help_options" - >"$dir/log"
	silent "bash: options of $name"
	for option in $(grep -- '^--' "$dir/help_options"); do
		offered "$name" "$option" | grep -qx -- "$option" || echo "$option"
	done >"$dir/log"
	silent "bash: each option of $name by its whole name"
done

# The values offered for an option are taken: the tool goes on to --help.
values()
{
	local value count=0
	for value in $(offered "$1" "$2" ''); do
		count=$((count + 1))
		tool "$1" "$2" "$value" --help >/dev/null 2>>"$dir/log" ||
			echo "$value" >>"$dir/log"
	done
	[ "$count" -gt 0 ] || echo "nothing offered" >>"$dir/log"
	silent "values of $1 $2"
	: >"$dir/log"
}

: >"$dir/log"
values dat_info --api
for option in --fabrics --op --pattern --registration --test --mode --size --cq --pick --cpus --format --raw-provider; do
	values dat_perf $option
done
values dat_run -f
values dat_top --sort

expect 'dat_info --api = 2' 2.0
expect 'dat_info --api 1' 1.2
expect 'dat_perf --op send,w' send,write
expect 'dat_perf --raw sockets,m' sockets,memory
expect 'dat_perf --pattern e' eager
expect 'dat_perf --format = $' table osu json csv
expect 'dat_run -f tcp,s' tcp,shm
expect 'dat_perf --fabrics tcp,r' tcp,rxm tcp,rxm+shm tcp,rxm-verbs
expect 'dat_run --port 1 --json --li' --libdir --limit
mkdir "$dir/folder" && : >"$dir/file"
here=$PWD
cd "$dir" || exit 1
expect 'dat_info --shm-dir fo' folder
expect 'dat_info -o fi' file
expect 'dat_run -l 3 -- prog fi' file
expect 'dat_run prog --junit fi' file
cd "$here" || exit 1

printf '%s\n' '# none' 'mine-1 u2.0 x' '  other u1.2 x' '* u2.0 x' >"$dir/dat.conf"
export DAT_OVERRIDE=$dir/dat.conf
expect 'dat_info -d $' ofi ofi-tcp ofi-verbs ofi-shm ofi-rxm ofi-efa mine-1 other
expect 'dat_perf --ia mi' mine-1

# ---------------------------------------------------------------- zsh

# With _arguments replaced by a listing, the options are the text before "[" or "=".
if command -v zsh >/dev/null 2>&1; then
	for name in dat_info dat_perf dat_run dat_top; do
		help_options "$name" >"$dir/help_options"
		timeout 60 zsh -fc '_arguments() { print -rl -- "$@"; }; service=$1; . "$2"' \
			zsh "$name" "$zsh_file" 2>&1 |
			grep -vxE -- '-[sS]|\*?:.*|\(-\):.*' |
			sed -e 's/^([^)]*)//' -e 's/^\*//' -e 's/[=[].*//' -e 's/+$//' |
			sort -u | diff "$dir/help_options" - >"$dir/log"
		silent "zsh: options of $name"
	done
else
	skip zsh 'not installed'
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
