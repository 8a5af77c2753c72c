/* SPDX-License-Identifier: BSD-2-Clause */
/* A provider library that exits, crashes, hangs or prints noise, as its IA parameters select. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const void *info, const char *params);
EXPORT void dat_provider_fini(const void *info);

void dat_provider_init(const void *info, const char *params)
{
	(void)info;
	if (strstr(params, "crash"))
		raise(SIGKILL);
	if (strstr(params, "exit"))
		_exit(3);
	puts("noise on stdout");
	fflush(stdout);
	fputs("noise on stderr\n", stderr);
	if (strstr(params, "hang")) {
		/* Forks a descendant that keeps the descriptors open. */
		fork();
		for (;;)
			pause();
	}
}

void dat_provider_fini(const void *info)
{
	(void)info;
}
