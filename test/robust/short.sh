#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs of this folder for make check, one after another:
# those that take less than half a minute.
. "${srcdir:-.}/test/robust/serial.sh"
serial garbage bad_listener flood imposter footprint fi_settings exposed many share unasked \
	mixed-20 progress changes wakes delivery signals soak srqstress
