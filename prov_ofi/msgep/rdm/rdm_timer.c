/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer of a domain: when to poll although nothing arrives. */
#include <sys/timerfd.h>

#include "base/clock.h"
#include "msgep/rdm/rdm_int.h"

/* Longest tick alongside a descriptor that may miss an arrival, see rdm_open.c. */
#define FD_TICK_MS 10

/* Without a descriptor the tick grows with the idle time: a stream whose receiver blocks resumes
 * soon, and a thread that has waited for long polls seldom. */
static uint64_t rdm_tick(const struct rdm_net *net)
{
	uint64_t idle = dofi_now() - net->found_at;

	if (idle < DOFI_US(RDM_TICK_US))
		return DOFI_US(RDM_TICK_US);
	return idle < DOFI_MS(RDM_TICK_MS) ? idle : DOFI_MS(RDM_TICK_MS);
}

/* Longest time to block although nothing arrives; 0: unlimited. Without a connection nothing does
 * arrive. */
static uint64_t rdm_next_poll(const struct rdm_net *net)
{
	if (net->inner.cq_fd < 0 && net->want_tx)
		return rdm_tick(net);
	if (!dofi_list_empty(&net->blocked) || net->post_full || net->large.post_full)
		return DOFI_MS(RDM_TICK_MS);
	if (net->fd_may_miss && net->want_tx)
		return DOFI_MS(FD_TICK_MS);
	if (!dofi_list_empty(&net->gaps) || !dofi_list_empty(&net->closed))
		return DOFI_MS(100);
	return 0;
}

void rdm_set_timer(struct rdm_net *net)
{
	uint64_t in = rdm_next_poll(net);
	struct itimerspec at = { .it_value = { 0, (long)in } };

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	if (in || net->timer_due)
		timerfd_settime(net->timer_fd, 0, &at, NULL);
	net->timer_due = in ? dofi_now() + in : 0;
}
