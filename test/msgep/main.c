/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the suites about connections of our own making. */
#include "rig.h"

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "test-msgep" };

	return dt_main(argc, argv, &program);
}
