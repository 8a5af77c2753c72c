# SPDX-License-Identifier: BSD-2-Clause
# bash completion for dat_info, dat_perf, dat_run and dat_top. -*- sh -*-
# Installed as dat_info, with links for the other tools; requires only bash.

# Sets cur and prev; readline splits "--option=value" into three words.
_dat_ofi_words()
{
	cur=${COMP_WORDS[COMP_CWORD]} prev=
	[ "$COMP_CWORD" -eq 0 ] || prev=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ] && [ "$COMP_CWORD" -gt 1 ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
}

# _dat_ofi_one WORDS: completes one of WORDS
_dat_ofi_one()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# _dat_ofi_list WORDS: completes a comma-separated list of WORDS
_dat_ofi_list()
{
	local before=
	[[ $cur != *,* ]] || before=${cur%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
	type compopt >/dev/null 2>&1 && compopt -o nospace 2>/dev/null
}

# _dat_ofi_file [-d]: completes files, or directories only
_dat_ofi_file()
{
	type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "${1:--f}" -- "$cur")
}

# Names in the registry file and built-in names.
_dat_ofi_adapters()
{
	local conf=${DAT_OVERRIDE:-/etc/dat.conf}
	_dat_ofi_one "ofi ofi-tcp ofi-verbs ofi-shm ofi-rxm ofi-efa $(sed -n \
		's/^[[:space:]]*\([A-Za-z0-9_.-]\{1,\}\)[[:space:]].*/\1/p' "$conf" 2>/dev/null)"
}

_dat_ofi_interfaces()
{
	_dat_ofi_one "$(ls /sys/class/net 2>/dev/null)"
}

_dat_ofi_processes()
{
	_dat_ofi_one "$(cd /proc && echo [0-9]*)"
}

_dat_info()
{
	local cur prev
	COMPREPLY=()
	_dat_ofi_words
	case $prev in
	-v | --show | -d | --diagnose | --calls) _dat_ofi_adapters ;;
	--api) _dat_ofi_one '1.2 2.0' ;;
	-o | --output | --report) _dat_ofi_file ;;
	--fabric) _dat_ofi_one 'tcp shm rxm verbs rxm-verbs efa psm3 cxi opx' ;;
	--shm-dir) _dat_ofi_file -d ;;
	-c | --counters) _dat_ofi_processes ;;
	--timeout | --limit) ;;
	*) _dat_ofi_one '-l --list -v --show -e --settings -d --diagnose -g --generate -c --counters --calls --clean --report
		--json --fabric --limit --api --threadsafe -o --output --force --timeout --shm-dir
		-h --help -V --version' ;;
	esac
}

_dat_perf()
{
	local cur prev
	COMPREPLY=()
	_dat_ofi_words
	case $prev in
	--ia) _dat_ofi_adapters ;;
	--fabrics) _dat_ofi_list 'tcp tcp+shm shm rxm rxm+shm verbs rxm-verbs efa psm3 cxi opx all' ;;
	--raw-provider) _dat_ofi_one 'tcp shm verbs efa psm3 cxi opx' ;;
	--domain) _dat_ofi_interfaces ;;
	--op) _dat_ofi_list 'send write read immed fadd cswap all' ;;
	--pattern) _dat_ofi_list 'eager two-queues halo all' ;;
	--registration) _dat_ofi_one 'message cached' ;;
	--test) _dat_ofi_list 'lat bw bibw rate all' ;;
	--mode) _dat_ofi_list 'poll wait cno memory all' ;;
	--size) _dat_ofi_one 'all' ;;
	--cq) _dat_ofi_one 'split merged' ;;
	--pick) _dat_ofi_one 'median best' ;;
	--cpus) _dat_ofi_one 'none' ;;
	--format) _dat_ofi_one 'table osu json csv' ;;
	--plot) _dat_ofi_file ;;
	--eager-limit | --eps | --iters | --warmup | --window | --rounds | --addr | --port | \
		--bind | --timeout | --limit) ;;
	*)
		if [[ $prev == --raw && $cur != -* ]]; then
			_dat_ofi_list 'libfabric sockets memory'
		elif [[ $cur == -* ]]; then
			_dat_ofi_one '--ia --fabrics --domain --op --pattern --eager-limit
				--registration --test --size --mode --cq --eps --srq --validate --iters --warmup --window --burst --rounds --pick
				--raw --raw-only --raw-provider --addr --raw-delivery --raw-more
				--queue --server --once --port --bind --cpus --timeout --limit --format
				--plot --selfloop --help --version'
		else
			mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
		fi ;;
	esac
}

_dat_top()
{
	local cur prev
	COMPREPLY=()
	_dat_ofi_words
	case $prev in
	-p | --pid) _dat_ofi_processes ;;
	-s | --sort) _dat_ofi_one 'pid program rate tx rx queue stalls retrans wakeups' ;;
	-d | --delay | -n | --count) ;;
	*) _dat_ofi_one '-p --pid -s --sort -d --delay -n --count --once --json -h --help
		-V --version' ;;
	esac
}

# Index of the program that dat_run starts: after "--", or the first word that is neither an
# option nor a value; nothing if the cursor is before it.
_dat_run_program()
{
	local i
	for ((i = 1; i <= COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			[ "$i" -eq "$COMP_CWORD" ] || echo $((i + 1))
			return ;;
		-f | -s | -l | -o | --fabric | --server | --limit | --out | --libdir | --repeat | \
			--port | --ready | --wait-s | --ready-limit | --grace | --expect | \
			--reject | --server-expect | --server-reject | --ignore | --junit)
			[ "${COMP_WORDS[i + 1]-}" != = ] || i=$((i + 1))
			i=$((i + 1)) ;;
		-*) ;;
		*)
			[ -z "${COMP_WORDS[i]}" ] || echo "$i"
			return ;;
		esac
	done
}

_dat_run()
{
	local cur prev program
	COMPREPLY=()
	_dat_ofi_words
	program=$(_dat_run_program)
	if [ -n "$program" ]; then
		if type _command_offset >/dev/null 2>&1; then
			_command_offset "$program"
		elif [ "$program" -eq "$COMP_CWORD" ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			_dat_ofi_file
		fi
		return
	fi
	case $prev in
	-f | --fabric) _dat_ofi_list 'tcp tcp+shm shm rxm rxm+shm verbs rxm-verbs efa psm3 cxi opx all list' ;;
	--libdir | -o | --out) _dat_ofi_file -d ;;
	--junit) _dat_ofi_file ;;
	-s | --server) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	-l | --limit | --repeat | --port | --ready | --wait-s | --ready-limit | --grace | \
		--expect | --reject | --server-expect | --server-reject | --ignore) ;;
	*)
		if [[ $cur == -* ]]; then
			_dat_ofi_one '-f --fabric --libdir --no-skip --repeat -s --server --port
				--ready --wait-s --ready-limit --server-quits --grace -l --limit
				--expect --reject --server-expect --server-reject -c --compare
				--ignore -o --out --show --tap --json --junit -h --help -V --version
				--'
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		fi ;;
	esac
}

complete -F _dat_info dat_info
complete -F _dat_perf dat_perf
complete -F _dat_run dat_run
complete -F _dat_top dat_top
