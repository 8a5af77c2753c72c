/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions of debug builds: a thread that breaks a promise of base/debug.h aborts, and the
 * message names the place, the expression and the locks that the thread holds. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/lock.h"
#include "msgep/msgep.h"
#include "shm_rig.h"

static struct msgep_domain domain;
static struct msgep_ep ep;
static struct msgep_srx srx;
static struct msgep_cq cq;

static void access_unlocked(void)
{
	int err;

	msgep_mr_access(&ep, 1, 0, 1, FI_REMOTE_READ, &err);
}

/* The lock is held, but for reading only. */
static void revoke_reading(void)
{
	pthread_rwlock_rdlock(&domain.mr_lock);
	msgep_revoke_key(&ep, 1);
}

static void claim_unlocked(void)
{
	msgep_srx_claim(&srx, &ep);
}

/* Holds a lock, but another one. */
static void refill_other_lock(void)
{
	dofi_lock(&cq.poll);
	msgep_cq_refill(&cq);
}

static void unlock_unlocked(void)
{
	dofi_unlock(&srx.lock);
}

static void lock_twice(void)
{
	dofi_lock(&srx.lock);
	dofi_lock(&srx.lock);
}

static void hold_one_more(void)
{
	dofi_lock(&srx.lock);
	dofi_lock(&cq.poll);
	DOFI_ASSERT_NO_LOCK_BUT(&srx.lock);
}

static void false_condition(void)
{
	DOFI_ASSERT(srx.capacity > srx.head, "SRX %p: capacity %u", (void *)&srx, srx.capacity);
}

struct promise {
	const char *name;
	void (*break_it)(void);
	const char *expr; /* as printed */
	const char *held; /* part of the line about the locks */
};

static const struct promise promises[] = {
	{ "a_region_is_accessed_under_its_lock", access_unlocked, "mr_lock: the caller must hold",
	  "holds no lock" },
	{ "a_region_is_closed_under_its_lock_for_writing", revoke_reading,
	  "must hold this lock for writing", "t_assert.c:" },
	{ "a_receive_is_claimed_under_the_lock_of_the_endpoint", claim_unlocked,
	  "&ep->lock: the caller must hold", "holds no lock" },
	{ "another_lock_does_not_suffice", refill_other_lock, "&cq->lock: the caller must hold",
	  "t_assert.c:" },
	{ "a_lock_that_is_not_held_is_not_released", unlock_unlocked, "is not held by this thread",
	  "holds no lock" },
	{ "a_lock_is_not_taken_twice", lock_twice, "is held by this thread", "t_assert.c:" },
	{ "no_lock_but_the_named_one_is_held", hold_one_more, "may hold no lock but",
	  "t_assert.c:" },
	{ "a_condition_holds", false_condition, "srx.capacity > srx.head: SRX ", "holds no lock" },
};

static void assert_prepare(void)
{
	pthread_rwlock_init(&domain.mr_lock, NULL);
	dofi_key_map_init(&domain.mrs);
	dofi_lock_init(&srx.lock);
	dofi_list_init(&srx.waiting);
	ep.domain = &domain;
	ep.srx = &srx;
}

/* Breaks the promise in a child; returns its status and what it printed. */
static int assert_run(const struct promise *p, char *text, size_t size)
{
	static const struct rlimit no_core;
	size_t len = 0;
	ssize_t n;
	int fd[2], status;
	pid_t pid;

	ASSERT_EQ(pipe(fd), 0);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(fd[1], STDERR_FILENO);
		p->break_it();
		_exit(0);
	}
	close(fd[1]);
	while (len < size - 1 && (n = read(fd[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd[0]);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_case(const void *row)
{
#ifdef DOFI_DEBUG
	const struct promise *p = row;
	char text[4096];
	int status;

	assert_prepare();
	status = assert_run(p, text, sizeof(text));
	dt_note("%s", text);
	ASSERT(WIFSIGNALED(status));
	ASSERT_EQ(WTERMSIG(status), SIGABRT);
	ASSERT(strstr(text, "assertion failed: "));
	ASSERT(strstr(text, p->expr));
	ASSERT(strstr(text, p->held));
#else
	(void)row;
	(void)assert_prepare;
	(void)assert_run;
	dt_skip("assertions exist in builds with --enable-debug only");
#endif
}

TEST_ROWS(assert, promises, assert_case)
