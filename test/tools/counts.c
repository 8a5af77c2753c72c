/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens an adapter and executes commands from stdin, so that dat_top has something to show. */
#define DAT_THREADSAFE DAT_TRUE
#if DAT_API_MAJOR == 1
#include <dat/udat.h>
#else
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS)
		return;
	fprintf(stderr, "%s: %#x\n", call, (unsigned int)ret);
	_exit(1);
}

/* The child's ordinary exit must leave the parent's counters alone. */
static void fork_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(1);
}

#if DAT_API_MAJOR == 2
/* Two members of this process, and their group. */
static void create_group(DAT_IA_HANDLE ia)
{
	DAT_IB_COLLECTIVE_MEMBER member[2];
	DAT_CONTEXT context = { .as_64 = 1 };
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;
	DAT_COUNT n;

	check(dat_pz_create(ia, &pz), "dat_pz_create");
	check(dat_evd_create(ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)DAT_IB_EVD_EXTENSION_FLAG,
			     &evd),
	      "dat_evd_create");
	for (int i = 0; i < 2; i++)
		check(dat_ib_collective_create_member(ia, NULL, &member[i], &n),
		      "dat_ib_collective_create_member");
	for (unsigned int i = 0; i < 2; i++)
		check(dat_ib_collective_create_group(member, 2, i, 1, NULL, evd, pz, context),
		      "dat_ib_collective_create_group");
	for (int i = 0; i < 2; i++)
		check(dat_evd_wait(evd, 20000000, 1, &event, &n), "dat_evd_wait");
}
#endif

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	int command;

	if (argc != 2)
		return 2;
	check(dat_ia_open(argv[1], 8, &async, &ia), "dat_ia_open");
	puts("ready");
	fflush(stdout);
	while ((command = getchar()) != EOF) {
		switch (command) {
		case 'p':
			check(dat_pz_create(ia, &pz), "dat_pz_create");
			break;
		case 'c':
			check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
			break;
		case 'o':
			async = DAT_HANDLE_NULL;
			check(dat_ia_open(argv[1], 8, &async, &ia), "dat_ia_open");
			break;
		case 'f':
			fork_child();
			break;
#if DAT_API_MAJOR == 2
		case 'g':
			create_group(ia);
			break;
#endif
		case 'x':
			puts("done");
			fflush(stdout);
			execl("/bin/sleep", "sleep", "60", (char *)NULL);
			return 1;
		default:
			continue;
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
