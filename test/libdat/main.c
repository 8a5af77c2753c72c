/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the suites for one API version; LIBDAT_UNDER_TEST names another libdat to compare with. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <CUnit/Basic.h>

#include "rig.h"

int main(int argc, char **argv)
{
	unsigned int failures;

	(void)argc;
	alarm(120);
	rig_start(argv);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 99;
	add_conf_suite();
	add_list_suite();
	add_register_suite();
	add_open_suite();
	add_close_suite();
	add_dispatch_suite();
	add_strerror_suite();
#if DAT_API_MAJOR >= 2
	add_extension_suite();
	add_related_suite();
#endif
	add_builtin_suite();
	add_diag_suite();
	add_thread_suite();
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}
