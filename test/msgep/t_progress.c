/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread and its completion queues (progress/progress_cq.c), with a queue of the
 * test's own. */
#include "data/cq.h"
#include "object/progress_key.h"
#include "object/progress_wakeup.h"
#include "progress/progress_cq.h"
#include "rig.h"

static struct dofi_ia ia;
static struct dofi_evd evd;
static unsigned int services;

/* Other threads post as fast as this queue is read. */
unsigned int dofi_evd_service(struct dofi_evd *e, unsigned int *requests)
{
	ASSERT_PTR(e, &evd);
	(*requests)++;
	services++;
	return 1;
}

bool dofi_cq_may_sleep(struct dofi_evd *e)
{
	ASSERT_PTR(e, &evd);
	return false;
}

void dofi_evd_disarm(struct dofi_evd *e, enum dofi_evd_progress to)
{
	e->progress = to;
}

void dofi_progress_set_timer(struct dofi_ia *i, uint64_t ns)
{
	(void)i;
	(void)ns;
}

static void queue_open(void)
{
	pthread_mutex_init(&ia.prog_lock, NULL);
	dofi_list_init(&ia.evds);
	dofi_lock_init(&evd.lock);
	dofi_list_init(&evd.link);
	dofi_list_append(&ia.evds, &evd.link);
	evd.obj.ia = &ia;
	evd.progress = DOFI_EVD_LEFT;
}

/* Returns how long the thread may sleep. */
static int round_of(unsigned int kind)
{
	int ms;

	pthread_mutex_lock(&ia.prog_lock);
	ms = dofi_progress_check_cqs(&ia, 1u << kind);
	pthread_mutex_unlock(&ia.prog_lock);
	return ms;
}

TEST(progress, a_queue_that_stays_full_does_not_keep_the_thread)
{
	queue_open();
	ASSERT_EQ(round_of(DOFI_KEY_WAKEUP), 0);
	ASSERT(services > 0);
	/* Other work has been done. */
	services = 0;
	ASSERT_EQ(round_of(DOFI_KEY_EQ), 0);
	ASSERT(services > 0);
}

TEST(progress, a_queue_that_stays_full_is_read_once_when_the_thread_must_end)
{
	queue_open();
	atomic_store(&ia.prog.stop, true);
	ASSERT_EQ(round_of(DOFI_KEY_WAKEUP), 0);
	ASSERT_EQ(services, 1);
}
