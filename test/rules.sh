#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does the rule table name a case for each rule, and does each of those cases exist?
dir=${srcdir:-.}/test
list=${TMPDIR:-/tmp}/rules.$$
trap 'rm -f "$list"' EXIT
passed=0
failed=0
set -f

test/api/test-api-20 --list | awk '{ print $2 }' > "$list"
# Rows look like "| rule | `case`, `case` |"; a name may end with *.
while IFS= read -r row; do
	case $row in
	'| --'* | '| rule '* | '|--'*) continue ;;
	'|'*) ;;
	*) continue ;;
	esac
	bad=
	# shellcheck disable=SC2016
	names=$(printf '%s\n' "$row" | sed 's/.*| \(.*\) |$/\1/' | grep -o '`[^`]*`' | tr -d '`')
	[ -n "$names" ] || bad=' no case is named'
	for name in $names; do
		pattern=$(printf '%s' "$name" | sed 's/\*/.*/g')
		grep -qx -- "$pattern" "$list" || bad="$bad $name"
	done
	if [ -z "$bad" ]; then
		passed=$((passed + 1))
	else
		echo "FAIL missing:$bad"
		echo "     $row"
		failed=$((failed + 1))
	fi
done < "$dir/rules.md"
[ $passed -gt 0 ] || failed=1
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
