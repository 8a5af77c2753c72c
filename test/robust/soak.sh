#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the soak test with chaos: 256 connections over each fabric, for an hour in all.
#
# Environment: SOAK_SECONDS, SOAK_FABRICS, SOAK_SEED (default: a random one; it is printed),
# SOAK_OPTIONS (options of soak.c and soak_chaos.c, such as "memory=0 srq=0"). The seed decides what
# the threads and the chaos do; when they do it is left to the scheduler.
set -u
seconds=${SOAK_SECONDS:-3600}
read -r -a options <<<"${SOAK_OPTIONS:-}"
read -r -a fabrics <<<"${SOAK_FABRICS:-tcp shm tcp+shm rxm}"
seed=${SOAK_SEED:-$RANDOM}
failed=0
for fabric in "${fabrics[@]}"; do
	echo "# over $fabric: seed=$seed"
	DAT_TEST_FABRIC=$fabric test/robust/soak "${options[@]}" chaos=1 threads=8 eps=32 \
		"seconds=$((seconds / ${#fabrics[@]}))" "seed=$seed" || failed=1
	seed=$((seed + 1))
done
exit $failed
