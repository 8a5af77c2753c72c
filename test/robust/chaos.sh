#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a short soak test with chaos for make check-all: few connections, 20 seconds over each fabric.
export SOAK_SECONDS=40 SOAK_FABRICS="tcp shm" SOAK_OPTIONS="threads=2 eps=4"
exec "${srcdir:-.}/test/robust/soak.sh"
