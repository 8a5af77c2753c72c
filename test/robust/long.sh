#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs of this folder for make check, one after another:
# those that take longer.
. "${srcdir:-.}/test/robust/serial.sh"
serial kill idle
