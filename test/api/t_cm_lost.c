/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests devices that report the establishment late, or never, to the side that accepts: over
 * InfiniBand and RoCE the message that does (RTU) may be lost; and a side that connects and looks
 * for events when the peer has ended the connection again. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "rig.h"

/* The beginning of librdmacm's struct rdma_cm_event, whose header not every machine has. */
struct cm_event {
	void *id, *listen_id;
	int event; /* enum rdma_cm_event_type */
	int status;
};

#define CM_CONNECT_REQUEST 4
#define CM_ESTABLISHED 9

/* What happens to the event of the establishment. */
enum { AS_USUAL, LOST, LATE, UNREAD };
static _Atomic int fate;
static _Atomic(void *) accepted; /* the last one that was requested */
static _Atomic unsigned int met;
static _Atomic(struct cm_event *) held;

/* DAPL_OFI_ACCEPT_MS is 10 s. */
#define LATE_S 11

static void *find(const char *name)
{
	void *library = dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *fn = library ? dlsym(library, name) : NULL;

	ASSERT(fn != NULL);
	return fn;
}

/* The held event arrives after the progress thread has looked, and before it reads the clock, which
 * is late then: that is its next look, or the one after a wakeup. */
static struct cm_event *held_event(void)
{
	if (!atomic_load(&held) || !is_progress_thread())
		return NULL;
	if (atomic_exchange(&progress_ahead_s, LATE_S))
		return atomic_exchange(&held, NULL);
	atomic_fetch_add(&met, 1);
	return NULL;
}

/* libfabric finds this function before that of librdmacm. */
int rdma_get_cm_event(void *channel, struct cm_event **event);

__attribute__((visibility("default"))) int rdma_get_cm_event(void *channel, struct cm_event **event)
{
	int (*real)(void *channel, struct cm_event **event);
	int (*ack)(struct cm_event * event);
	int ret;

	*(void **)&real = find("rdma_get_cm_event");
	*(void **)&ack = find("rdma_ack_cm_event");
	*event = held_event();
	if (*event)
		return 0;
	if (atomic_load(&held) || atomic_load(&fate) == UNREAD) {
		errno = EAGAIN;
		return -1;
	}
	while (!(ret = real(channel, event))) {
		if ((*event)->event == CM_CONNECT_REQUEST)
			atomic_store(&accepted, (*event)->id);
		if ((*event)->event != CM_ESTABLISHED || (*event)->id != atomic_load(&accepted) ||
		    !atomic_load(&fate))
			break;
		if (atomic_load(&fate) == LATE) {
			atomic_store(&held, *event);
			*event = held_event();
			errno = EAGAIN;
			return -1;
		}
		ack(*event);
		atomic_fetch_add(&met, 1);
	}
	return ret;
}

static void pair_accept(struct pair *p, int how)
{
	DAT_CR_HANDLE cr;

	if (!fabric_is("verbs") && !fabric_is("iwarp"))
		dt_skip("the library itself establishes connections here");
	pair_open(p);
	OK(post_recv(&p->b, 0, 100, 1));
	cr = pair_request(p);
	atomic_store(&fate, how);
	OK(dat_cr_accept(cr, p->b.ep, 0, NULL));
	EV_CONN(p->a.conn, ESTABLISHED, p->a.ep);
}

static void client_sends(struct pair *p)
{
	fill(p->a.buf.mem, 100, 5);
	OK(post_send(&p->a, 0, 100, 2));
	EV_DTO(p->a.req, p->a.ep, 2, OP_SEND, 100);
}

static void server_receives(struct pair *p)
{
	EV_CONN(p->b.conn, ESTABLISHED, p->b.ep);
	EV_DTO(p->b.recv, p->b.ep, 1, OP_RECV, 100);
	CHECK_FILL(p->b.buf.mem, 100, 5);
}

TEST(establishment, that_is_lost_is_reported_when_the_client_disconnects)
{
	struct pair p;

	pair_accept(&p, LOST);
	DT_UNTIL(atomic_load(&met) == 1, US_EVENT);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_COMPLETION_PENDING);
	EV_EMPTY(p.b.conn);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_FLUSH(p.b.recv, p.b.ep, 1, OP_RECV);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	pair_close(&p);
}

/* What it has sent is received before the end. */
TEST(establishment, that_is_lost_comes_before_the_last_messages_of_the_client)
{
	struct pair p;

	pair_accept(&p, LOST);
	DT_UNTIL(atomic_load(&met) == 1, US_EVENT);
	client_sends(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	server_receives(&p);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	pair_close(&p);
}

TEST(establishment, that_is_lost_follows_from_the_first_message)
{
	struct pair p;

	pair_accept(&p, LOST);
	DT_UNTIL(atomic_load(&met) == 1, US_EVENT);
	OK(post_recv(&p.a, 200, 100, 3));
	client_sends(&p);
	server_receives(&p);
	OK(post_send(&p.b, 0, 100, 4));
	EV_DTO(p.b.req, p.b.ep, 4, OP_SEND, 100);
	EV_DTO(p.a.recv, p.a.ep, 3, OP_RECV, 100);
	pair_disconnect(&p);
	pair_close(&p);
}

/* The thread may lose the processor between its last look for events and at the clock. */
TEST(establishment, that_has_arrived_is_not_too_late)
{
	struct pair p;

	pair_accept(&p, LATE);
	client_sends(&p);
	DT_UNTIL(atomic_load(&met) == 1, US_EVENT);
	server_receives(&p);
	pair_disconnect(&p);
	pair_close(&p);
}

/* Lets the server end the connection before the client knows that it was accepted. */
static void accept_and_close(struct pair *p)
{
	DAT_CR_HANDLE cr;

	pair_open(p);
	cr = pair_request(p);
	atomic_store(&fate, UNREAD);
	OK(dat_cr_accept(cr, p->b.ep, 0, NULL));
	OK(dat_ep_free(p->b.ep));
	p->b.ep = NULL;
	/* The device's answers, which nothing shows. */
	dt_sleep_us(300000);
	atomic_store(&fate, AS_USUAL);
}

TEST(establishment, that_the_peer_ends_at_once_is_logged_as_its_end)
{
	FILE *log = tmpfile();
	int own_stderr = dup(2);
	struct pair p;

	if (!fabric_is("verbs"))
		dt_skip("the device reports the establishment before the end");
	setenv("DAPL_OFI_LOG", "2", 1);
	ASSERT(log && own_stderr >= 0 && dup2(fileno(log), 2) == 2);
	accept_and_close(&p);
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	pair_close(&p);
	ASSERT_EQ(dup2(own_stderr, 2), 2);
	close(own_stderr);
	ASSERT(log_has(log, "the peer closed the connection"));
	ASSERT(!log_has(log, "not permitted"));
	fclose(log);
}
