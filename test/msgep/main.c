/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the suites of the connection manager of msgep. */
#include "rig.h"

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "test-msgep" };

	return dt_main(argc, argv, &program);
}
