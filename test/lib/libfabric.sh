# SPDX-License-Identifier: BSD-2-Clause
# Puts the libfabric that DAT_TEST_LIBFABRIC names in the place of the system's. (sourced by lib/start and
# vm/inside, in a mount namespace or a machine of the test's own)

replace_libfabric()
{
	local system
	[ -n "${DAT_TEST_LIBFABRIC:-}" ] || return 0
	system=$(/sbin/ldconfig -p | sed -n 's/.*libfabric\.so\.1 .*=> //p' | head -n 1)
	[ -z "$system" ] || mount --bind "$(realpath "$DAT_TEST_LIBFABRIC")" "$(realpath "$system")"
}
