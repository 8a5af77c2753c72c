/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the suites about the wire over shared memory. */
#include "shm_rig.h"

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "shm" };

	return dt_main(argc, argv, &program);
}
