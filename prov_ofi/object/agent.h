/* SPDX-License-Identifier: BSD-2-Clause */
/* Proxy agents of CNOs: one call for each association of an agent with a CNO.
 *
 * dat_cno_create and dat_cno_modify_agent allocate the call's record. The first trigger moves it
 * from the CNO to the IA's queue, which the progress thread processes; by then the CNO may have
 * another agent.
 */
#ifndef DOFI_AGENT_H
#define DOFI_AGENT_H

#include "object/cno.h"

struct dofi_agent {
	struct dofi_list link; /* ia->agents, under deferred_lock */
	struct dofi_cno *cno;
	DAT_OS_WAIT_PROXY_AGENT call;
	struct dofi_cause cause; /* of the trigger */
};

/* *out is NULL if there is no function to call. Returns 0 or -ENOMEM. */
int dofi_agent_new(struct dofi_cno *cno, DAT_OS_WAIT_PROXY_AGENT call, struct dofi_agent **out);
/* The agent of the next trigger, which has no function if there is none. Caller holds cno->lock. */
DAT_OS_WAIT_PROXY_AGENT dofi_agent_of(const struct dofi_cno *cno);

/* Caller of the next three holds cno->lock. */

/* Queues the call. False: there is no agent. */
bool dofi_agent_trigger(struct dofi_cno *cno, const struct dofi_cause *cause);
/* Replaces the agent for the next trigger; queued calls remain. */
void dofi_agent_replace(struct dofi_cno *cno, struct dofi_agent *agent);
/* Removes the agent and its queued calls. */
void dofi_agent_remove(struct dofi_cno *cno);

/* Waits until a running call for this CNO has returned; returns at once in the progress thread,
 * which executes the calls. Caller holds no lock. */
void dofi_agent_await(struct dofi_cno *cno);
/* Executes all queued calls. Called by the progress thread, without locks. */
void dofi_agents_run(struct dofi_ia *ia);
/* Calls the agents with a NULL EVD because the IA is being closed. Caller holds no lock, and the
 * progress thread has ended. */
void dofi_agent_dismiss(struct dofi_cno *cno);

#endif
