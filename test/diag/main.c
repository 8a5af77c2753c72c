/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the suites about error messages, logs and traces. */
#include "run.h"

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "test-diag-" V };

	return dt_main(argc, argv, &program);
}
