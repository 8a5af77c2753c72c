/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the suites about the transport over shared memory. */
#include <stdlib.h>

#include "shm_rig.h"

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "shm" };

	/* The cases need CMA, whether or not it is fast on this kernel. */
	setenv("DAPL_OFI_TEST_SHM_PULL", "1", 1);
	return dt_main(argc, argv, &program);
}
