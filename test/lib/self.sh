#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does the harness notice failures of every kind? Runs test/lib/self and judges its output.
self=test/lib/self
failed=0
passed=0

check()
{
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		echo "FAIL $1"
		failed=$((failed + 1))
	fi
}

out=$($self --suite good 2>&1)
check "good cases end with success" $?
echo "$out" | grep -q '^6 passed, 0 failed, 1 skipped$'
check "good cases are counted" $?
# A case that hangs ends after three times its limit at the latest.
out=$(timeout 60 $self --suite bad 2>&1)
test $? -eq 1
check "bad cases end with failure" $?
echo "$out" | grep -q '^0 passed, 11 failed, 0 skipped$'
check "every bad case fails" $?
$self --list | grep -q '^18 cases$'
check "all cases are listed" $?
test "$($self --list --test '*_peer*' | wc -l)" -eq 4
check "a pattern chooses cases" $?
for words in 'self.c:[0-9]*: 1 is 1' 'self.c:[0-9]*: arg != NULL' 'signal 6' 'time limit' \
	'signal 14' 'exit status 3' 'standard output: text' 'left open' 'not reached in time'; do
	echo "$out" | grep -q "$words"
	check "says \"$words\"" $?
done
echo "$passed passed, $failed failed, 0 skipped"
test $failed -eq 0
