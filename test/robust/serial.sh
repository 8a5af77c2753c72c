# SPDX-License-Identifier: BSD-2-Clause
# Runs programs of this folder one after another, because they measure time. Make would start a
# chain of dependent tests only after all others.

# serial NAME...: from the top of a build tree; exits
serial()
{
	local name status failed=0

	for name; do
		echo "# $name"
		"test/robust/$name"
		status=$?
		case $status in
		0) ;;
		77) echo "0 passed, 0 failed, 1 skipped" ;;
		*)
			echo "not ok $name: exit status $status"
			failed=1 ;;
		esac
	done
	exit $failed
}
