/* SPDX-License-Identifier: BSD-2-Clause */
/* Proxy agents of notification objects: one call for each association of an agent with a CNO.
 *
 * dat_cno_create and dat_cno_modify_agent allocate what the call needs. The first trigger moves it
 * from the CNO to the IA's queue, in which the progress thread finds it; by then the CNO may have
 * another agent.
 */
#ifndef DOFI_AGENT_H
#define DOFI_AGENT_H

#include "object/cno.h"

struct dofi_agent {
	struct dofi_list link;		/* ia->agents, under work_lock */
	struct dofi_cno *cno;
	DAT_OS_WAIT_PROXY_AGENT call;
	DAT_EVD_HANDLE cause;		/* of the trigger */
};

/* *out is NULL if there is no function to be called. 0 or -ENOMEM. */
int dofi_agent_new(struct dofi_cno *cno, DAT_OS_WAIT_PROXY_AGENT call, struct dofi_agent **out);
/* What dat_cno_query shows; takes cno->lock. */
DAT_OS_WAIT_PROXY_AGENT dofi_agent_query(struct dofi_cno *cno);

/* These three: cno->lock held. */

/* Queues the call. False: there is no agent. */
bool dofi_agent_trigger(struct dofi_cno *cno, DAT_EVD_HANDLE cause);
/* Another agent for the next trigger; queued calls stay. */
void dofi_agent_replace(struct dofi_cno *cno, struct dofi_agent *agent);
/* No agent, and no queued calls either. */
void dofi_agent_remove(struct dofi_cno *cno);

/* Returns when the call that is under way for this CNO, if there is one, has returned; at once in
 * the progress thread, which makes that call. No lock held. */
void dofi_agent_await(struct dofi_cno *cno);
/* Makes all queued calls; progress thread, no lock held. */
void dofi_agents_run(struct dofi_ia *ia);
/* Releases the agents with a NULL EVD because the IA is being closed; no lock held, and the
 * progress thread has ended. */
void dofi_agent_dismiss(struct dofi_cno *cno);

#endif
