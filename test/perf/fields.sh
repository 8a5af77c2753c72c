#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Has the JSON output of dat_perf all its rows, fields and figures?
# fields.sh FILE ROWS LAYERS     LAYERS: a word list of dat, raw, queue, sockets, memory
set -u

file=$1 want=$2 layers=$3

wrong() {
	echo "fields.sh: $*" >&2
	cat "$file" >&2
	exit 1
}

grep -q '"results": \[' "$file" || wrong "no array of results"
rows=$(grep -c '^  {' "$file")
[ "$rows" = "$want" ] || wrong "$rows rows, expected $want"

for name in fabric op mode; do
	n=$(grep -c "^  {.*\"$name\": \"[a-z-]*\"" "$file")
	[ "$n" = "$rows" ] || wrong "$name: in $n rows of $rows"
done
positive() { # NAME
	n=$(grep -c "^  {.*\"$1\": 0*\(\.0*\)\?[1-9]" "$file")
	[ "$n" = "$rows" ] || wrong "$1: positive in $n rows of $rows"
}
positive size
for figure in latency bandwidth rate; do
	case $figure in
	latency) unit=_us ;;
	bandwidth) unit=_mbps ;;
	rate) unit=_mps ;;
	esac
	for layer in $layers; do
		case $layer in
		dat) positive $figure$unit ;;
		raw) positive raw_$figure$unit ;;
		queue | sockets | memory) positive ${layer}_$figure$unit ;;
		esac
	done
	case $layers in 'dat raw'*) positive ${figure}_ratio ;; esac
done

if command -v python3 >/dev/null 2>&1; then
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$file" ||
		wrong "not valid JSON"
fi
exit 0
