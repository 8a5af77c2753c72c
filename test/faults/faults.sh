#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs all cases of test/faults over each fabric (make check-faults), or over those that are given.
# The exit status is 0, 1 if a case failed, or 77 if none could be run.
set -u
status=77
for fabric in ${*:-shm tcp tcp+shm rxm}; do
	echo "# ---- over $fabric"
	DAT_TEST_FABRIC=$fabric "${srcdir:-.}/test/lib/start" test/faults/faults -a
	case $? in
	0) [ $status -eq 1 ] || status=0 ;;
	77) ;;
	*) status=1 ;;
	esac
done
exit $status
