/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues, executes and cancels the calls of proxy agents. */
#include <errno.h>
#include <stdlib.h>

#include "object/agent.h"
#include "object/progress_wakeup.h"

#define CALLS_PER_ROUND 64

int dofi_agent_new(struct dofi_cno *cno, DAT_OS_WAIT_PROXY_AGENT call, struct dofi_agent **out)
{
	struct dofi_agent *agent;

	*out = NULL;
	if (!call.proxy_agent_func)
		return 0;
	agent = calloc(1, sizeof(*agent));
	if (!agent)
		return -ENOMEM;
	dofi_list_init(&agent->link);
	agent->cno = cno;
	agent->call = call;
	atomic_store(&dofi_obj_ia(&cno->obj)->has_agents, true);
	*out = agent;
	return 0;
}

DAT_OS_WAIT_PROXY_AGENT dofi_agent_of(const struct dofi_cno *cno)
{
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL };

	DOFI_ASSERT_LOCKED(&cno->lock);
	return cno->agent ? cno->agent->call : none;
}

bool dofi_agent_trigger(struct dofi_cno *cno, const struct dofi_cause *cause)
{
	struct dofi_agent *agent = cno->agent;
	struct dofi_ia *ia = cno->obj.ia;

	if (!agent)
		return false;
	cno->agent = NULL;
	agent->cause = *cause;
	pthread_mutex_lock(&ia->deferred_lock);
	dofi_list_append(&ia->agents, &agent->link);
	pthread_mutex_unlock(&ia->deferred_lock);
	return true;
}

void dofi_agent_replace(struct dofi_cno *cno, struct dofi_agent *agent)
{
	free(cno->agent);
	cno->agent = agent;
}

/* Dequeues the oldest call of the CNO (NULL: of any CNO). Caller holds ia->deferred_lock. */
static struct dofi_agent *agent_take_queued(struct dofi_ia *ia, const struct dofi_cno *cno)
{
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&ia->deferred_lock);
	dofi_list_each(pos, &ia->agents)
	{
		struct dofi_agent *agent = dofi_container(pos, struct dofi_agent, link);

		if (cno && agent->cno != cno)
			continue;
		dofi_list_remove(&agent->link);
		return agent;
	}
	return NULL;
}

static struct dofi_agent *agent_take_queued_of(struct dofi_cno *cno)
{
	struct dofi_ia *ia = cno->obj.ia;
	struct dofi_agent *agent;

	pthread_mutex_lock(&ia->deferred_lock);
	agent = agent_take_queued(ia, cno);
	pthread_mutex_unlock(&ia->deferred_lock);
	return agent;
}

void dofi_agent_remove(struct dofi_cno *cno)
{
	struct dofi_agent *agent;

	dofi_agent_replace(cno, NULL);
	while ((agent = agent_take_queued_of(cno)))
		free(agent);
}

void dofi_agent_await(struct dofi_cno *cno)
{
	struct dofi_ia *ia = cno->obj.ia;
	uint32_t called;

	if (dofi_progress_is_me(ia))
		return;
	pthread_mutex_lock(&ia->deferred_lock);
	called = ia->called;
	while (ia->calling == cno && ia->called == called)
		pthread_cond_wait(&ia->call_over, &ia->deferred_lock);
	pthread_mutex_unlock(&ia->deferred_lock);
}

/* Freeing the CNO waits for the call. */
static void agent_call(struct dofi_agent *agent)
{
	DAT_EVD_HANDLE cause;

	pthread_mutex_lock(&agent->cno->lock);
	cause = dofi_cno_cause(agent->cno, &agent->cause);
	pthread_mutex_unlock(&agent->cno->lock);
	agent->call.proxy_agent_func(agent->call.instance_data, cause);
	free(agent);
}

void dofi_agents_run(struct dofi_ia *ia)
{
	struct dofi_agent *agent = NULL;
	bool more;

	pthread_mutex_lock(&ia->deferred_lock);
	/* Bounded: an agent may trigger its own CNO. */
	for (int i = 0; i < CALLS_PER_ROUND && (agent = agent_take_queued(ia, NULL)); i++) {
		ia->calling = agent->cno;
		pthread_mutex_unlock(&ia->deferred_lock);
		agent_call(agent);
		pthread_mutex_lock(&ia->deferred_lock);
		ia->calling = NULL;
		ia->called++;
		pthread_cond_broadcast(&ia->call_over);
	}
	more = !dofi_list_empty(&ia->agents);
	pthread_mutex_unlock(&ia->deferred_lock);
	if (more)
		dofi_progress_wakeup(ia);
}

void dofi_agent_dismiss(struct dofi_cno *cno)
{
	struct dofi_list owed;
	struct dofi_agent *agent;

	/* Collect first: an agent may associate itself again when it is called. */
	dofi_list_init(&owed);
	while ((agent = agent_take_queued_of(cno)))
		dofi_list_append(&owed, &agent->link);
	pthread_mutex_lock(&cno->lock);
	if (cno->agent)
		dofi_list_append(&owed, &cno->agent->link);
	cno->agent = NULL;
	pthread_mutex_unlock(&cno->lock);
	while (!dofi_list_empty(&owed)) {
		agent = dofi_container(owed.next, struct dofi_agent, link);
		dofi_list_remove(&agent->link);
		agent->call.proxy_agent_func(agent->call.instance_data, DAT_HANDLE_NULL);
		free(agent);
	}
}
