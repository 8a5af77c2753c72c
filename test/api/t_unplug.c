/* SPDX-License-Identifier: BSD-2-Clause */
/* An IA at work whose interface goes down, or whose device is removed.
 *
 * Only where that may be done to the machine: the environment has the commands; who sets them
 * (test/vm/inside) undoes them.
 */
#include "rig.h"

#include <spawn.h>
#include <sys/wait.h>

#define ROUNDS 20
#define DEPTH 8
#define US_OUTAGE 30000000u

static pid_t run(const char *variable)
{
	const char *command = getenv(variable);
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL };
	pid_t pid;

	if (!command || !*command)
		dt_skip("%s names no command", variable);
	ASSERT_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

/* Sends one message; false if the connection is broken. */
static bool exchange(struct pair *p, uint64_t i)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	if (post_recv(&p->b, 0, 256, 1000 + i) != DAT_SUCCESS)
		return false;
	if (post_send(&p->a, 0, 256, i) != DAT_SUCCESS)
		return false;
	OK(dat_evd_wait(p->a.req, US_OUTAGE, 1, &ev, &more));
	if (dto_of(&ev)->status != DAT_DTO_SUCCESS)
		return false;
	OK(dat_evd_wait(p->b.recv, US_OUTAGE, 1, &ev, &more));
	return dto_of(&ev)->status == DAT_DTO_SUCCESS;
}

static void ends(struct side *s)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	OK(dat_evd_wait(s->conn, US_OUTAGE, 1, &ev, &more));
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	       ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	ASSERT_EQ(side_state(s), DAT_EP_STATE_DISCONNECTED);
	EV_NONE(s->conn);
}

/* Every operation of a queue has completed. */
static void idle(struct side *s)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	OK(dat_ep_get_status(s->ep, &state, &recv_idle, &request_idle));
	ASSERT_EQ(recv_idle, DAT_TRUE);
	ASSERT_EQ(request_idle, DAT_TRUE);
}

static void pull_the_plug(const char *command)
{
	DAT_COUNT more;
	struct pair p;
	DAT_EVENT ev;
	uint64_t i;
	pid_t pid;

	pair_up(&p);
	for (i = 0; i < DEPTH; i++)
		OK(post_recv(&p.a, 0, 64, i));
	for (i = 0; i < ROUNDS; i++)
		ASSERT(exchange(&p, i));
	pid = run(command);
	while (exchange(&p, i))
		i++;
	OK(dat_evd_wait(p.node.async, US_OUTAGE, 1, &ev, &more));
	ASSERT_EQ(ev.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	ASSERT_PTR(ev.event_data.asynch_error_event_data.dat_handle, p.node.ia);
	ends(&p.a);
	ends(&p.b);
	for (i = 0; i < DEPTH; i++)
		EV_FLUSH(p.a.recv, p.a.ep, i, OP_RECV);
	idle(&p.a);
	idle(&p.b);
	pair_close(&p);
	finish(pid);
}

/* The kernel lets go of a device when the last process that has opened it has ended: the command
 * must not wait for that. */
TEST_LIMIT(unplug, a_removed_device_ends_the_connections_and_tells, 90)
{
	pull_the_plug("DAT_TEST_REMOVE");
}

TEST_LIMIT(unplug, an_interface_taken_down_ends_the_connections_and_tells, 90)
{
	pull_the_plug("DAT_TEST_DOWN");
}
