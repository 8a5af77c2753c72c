/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues messages from a transport for the connection manager. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/eventfd.h"
#include "base/forkfd.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* Limit of polls until the transport allows blocking. */
#define TRIES 256
/* Maximum interval between retries. */
#define AGAIN_MOST_MS 32
/* Sizes of preallocated items: for messages that end a connection (BYE is the longest; MOVED and
 * GONE are only a header), and for any message. */
#define ROOM_END (MSGEP_CM_HDR + 32)
#define ROOM_ANY MSGEP_CM_MAX

struct msgep_inbox {
	struct msgep_cm_source doorbell, transport; /* in cm->epfd */
	struct msgep_domain *domain;
	struct msgep_cm *cm;   /* NULL: none; eq->lock and lock to write */
	struct dofi_list link; /* cm->inboxes; eq->lock */
	struct dofi_lock lock;
	struct dofi_list items;
	struct dofi_list spares;        /* preallocated, used when there is no memory */
	struct dofi_list answers;       /* the same for answers to requests */
	uint32_t n_answers, n_expected; /* actual and required number of those */
	uint32_t count;
	bool signalled, watching;
	int fd;
	struct dofi_timer check; /* host keepalive */
	struct dofi_timer reap;  /* half-open connections of the transport */
	struct dofi_timer again; /* the next retry but the first */
	unsigned int again_ms;   /* its interval; 0: none has failed */
	bool retry, retrying;    /* requested; being executed. lock */
};

static struct msgep_inbox *inbox_of(const struct msgep_domain *domain)
{
	return domain->inbox;
}

static void inbox_doorbell_ready(struct msgep_cm_source *source, uint32_t events)
{
	struct msgep_inbox *inbox = dofi_container(source, struct msgep_inbox, doorbell);

	(void)events;
	dofi_lock(&inbox->lock);
	inbox->signalled = false;
	dofi_eventfd_clear(inbox->fd);
	dofi_unlock(&inbox->lock);
	inbox->cm->process_inbox(inbox->cm, inbox->domain);
	dofi_lock(&inbox->lock);
	if (inbox->count && !inbox->signalled) {
		inbox->signalled = true;
		dofi_eventfd_set(inbox->fd);
	}
	dofi_unlock(&inbox->lock);
}

static void inbox_transport_ready(struct msgep_cm_source *source, uint32_t events)
{
	struct msgep_domain *domain = dofi_container(source, struct msgep_inbox, transport)->domain;
	const struct msgep_transport *transport = domain->fabric->transport;
	int tries = TRIES;

	(void)events;
	do {
		transport->progress(domain, NULL);
	} while (!transport->may_sleep(domain, false) && --tries);
}

static void inbox_arm_check(struct msgep_inbox *inbox)
{
	uint64_t after = DOFI_MS(1000) * (uint64_t)dofi_param(DOFI_NUM_KEEPALIVE_S);

	if (after)
		msgep_cm_arm(inbox->cm, &inbox->check, dofi_now() + after);
}

static void inbox_check(struct dofi_timer *timer)
{
	struct msgep_inbox *inbox = dofi_container(timer, struct msgep_inbox, check);

	inbox->domain->fabric->transport->check_hosts(inbox->domain);
	inbox_arm_check(inbox);
}

static void inbox_arm_reap(struct msgep_inbox *inbox)
{
	if (inbox->domain->fabric->transport->reap)
		msgep_cm_arm(inbox->cm, &inbox->reap,
			     dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS)));
}

static void inbox_reap(struct dofi_timer *timer)
{
	struct msgep_inbox *inbox = dofi_container(timer, struct msgep_inbox, reap);

	inbox->domain->fabric->transport->reap(inbox->domain);
	inbox_arm_reap(inbox);
}

static void inbox_run_retry(struct msgep_inbox *inbox)
{
	bool wanted;

	dofi_lock(&inbox->lock);
	wanted = inbox->retry;
	inbox->retry = false;
	inbox->retrying = wanted;
	dofi_unlock(&inbox->lock);
	if (!wanted)
		return;
	inbox->domain->fabric->transport->retry(inbox->domain);
	dofi_lock(&inbox->lock);
	wanted = inbox->retry;
	inbox->retrying = false;
	dofi_unlock(&inbox->lock);
	if (!wanted) {
		inbox->again_ms = 0;
		return;
	}
	inbox->again_ms = inbox->again_ms ? 2 * inbox->again_ms : 1;
	if (inbox->again_ms > AGAIN_MOST_MS)
		inbox->again_ms = AGAIN_MOST_MS;
	msgep_cm_arm(inbox->cm, &inbox->again, dofi_now() + DOFI_MS(inbox->again_ms));
}

static void inbox_again(struct dofi_timer *timer)
{
	inbox_run_retry(dofi_container(timer, struct msgep_inbox, again));
}

void msgep_inbox_retry_all(struct msgep_cm *cm)
{
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&cm->eq->lock);
	/* Those whose timer is armed are left to it. */
	dofi_list_each(pos, &cm->inboxes)
	{
		struct msgep_inbox *inbox = dofi_container(pos, struct msgep_inbox, link);

		if (inbox->again.when == DOFI_NEVER)
			inbox_run_retry(inbox);
	}
}

void msgep_inbox_retry(struct msgep_domain *domain)
{
	struct msgep_inbox *inbox = inbox_of(domain);

	/* Being closed. */
	if (!inbox)
		return;
	dofi_lock(&inbox->lock);
	if (!inbox->retry && !inbox->retrying && inbox->cm)
		msgep_cm_retry_soon(inbox->cm);
	inbox->retry = true;
	dofi_unlock(&inbox->lock);
}

int msgep_inbox_open(struct msgep_domain *domain)
{
	struct msgep_inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox)
		return -FI_ENOMEM;
	inbox->fd = dofi_forkfd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	if (inbox->fd < 0) {
		free(inbox);
		return -errno;
	}
	inbox->doorbell.ready = inbox_doorbell_ready;
	inbox->transport.ready = inbox_transport_ready;
	inbox->domain = domain;
	dofi_list_init(&inbox->link);
	dofi_list_init(&inbox->items);
	dofi_list_init(&inbox->spares);
	dofi_list_init(&inbox->answers);
	dofi_lock_init(&inbox->lock);
	domain->inbox = inbox;
	return 0;
}

/* Takes a preallocated item with room for len bytes; NULL: none. */
static struct msgep_item *inbox_take_spare(struct msgep_inbox *inbox, size_t len)
{
	struct dofi_list *list = &inbox->spares;
	struct msgep_item *item = NULL;

	dofi_lock(&inbox->lock);
	if (len > ROOM_END || dofi_list_empty(list))
		list = &inbox->answers;
	if (len <= ROOM_ANY)
		item = dofi_list_pop(list, struct msgep_item, link);
	dofi_unlock(&inbox->lock);
	return item;
}

bool msgep_inbox_put(struct msgep_domain *domain, const struct msgep_item *what, const void *data)
{
	struct msgep_inbox *inbox = inbox_of(domain);
	struct msgep_item *item = inbox ? malloc(sizeof(*item) + what->len) : NULL;
	uint16_t spare = 0;
	bool room;

	if (!item && inbox && what->kind != MSGEP_ITEM_REQUEST) {
		item = inbox_take_spare(inbox, what->len);
		spare = item ? item->spare : 0;
	}
	if (!item)
		return false;
	*item = *what;
	item->spare = spare;
	dofi_list_init(&item->link);
	if (what->len)
		memcpy(item->data, data, what->len);
	dofi_lock(&inbox->lock);
	room = inbox->cm && (what->kind != MSGEP_ITEM_REQUEST || inbox->count < MSGEP_INBOX_MOST);
	if (room) {
		dofi_list_append(&inbox->items, &item->link);
		inbox->count++;
		if (!inbox->signalled && dofi_forkfd_is_open(inbox->fd))
			dofi_eventfd_set(inbox->fd);
		inbox->signalled = true;
	}
	dofi_unlock(&inbox->lock);
	if (!room)
		msgep_inbox_free(domain, item);
	return room;
}

void msgep_inbox_free(struct msgep_domain *domain, struct msgep_item *item)
{
	struct msgep_inbox *inbox = inbox_of(domain);
	bool keep = item->spare;

	dofi_lock(&inbox->lock);
	if (item->spare == ROOM_ANY && inbox->n_answers > inbox->n_expected) {
		inbox->n_answers--;
		keep = false;
	}
	if (keep)
		dofi_list_append(item->spare == ROOM_ANY ? &inbox->answers : &inbox->spares,
				 &item->link);
	dofi_unlock(&inbox->lock);
	if (!keep)
		free(item);
}

static struct msgep_item *inbox_new_spare(uint16_t room)
{
	struct msgep_item *item = malloc(sizeof(*item) + room);

	if (!item)
		return NULL;
	item->spare = room;
	dofi_list_init(&item->link);
	return item;
}

int msgep_inbox_spare(struct msgep_domain *domain)
{
	struct msgep_item *item;

	/* Being closed: no message is put into it any more. */
	if (!inbox_of(domain))
		return 0;
	item = inbox_new_spare(ROOM_END);
	if (!item)
		return -FI_ENOMEM;
	msgep_inbox_free(domain, item);
	return 0;
}

int msgep_inbox_expect(struct msgep_domain *domain)
{
	struct msgep_inbox *inbox = inbox_of(domain);
	struct msgep_item *item = inbox_new_spare(ROOM_ANY);

	if (!item)
		return -FI_ENOMEM;
	dofi_lock(&inbox->lock);
	inbox->n_expected++;
	inbox->n_answers++;
	dofi_unlock(&inbox->lock);
	msgep_inbox_free(domain, item);
	return 0;
}

void msgep_inbox_expected(struct msgep_domain *domain)
{
	struct msgep_inbox *inbox = inbox_of(domain);
	struct msgep_item *item;

	dofi_lock(&inbox->lock);
	inbox->n_expected--;
	item = dofi_list_pop(&inbox->answers, struct msgep_item, link);
	dofi_unlock(&inbox->lock);
	/* Otherwise msgep_inbox_free frees the item that is in use. */
	if (item)
		msgep_inbox_free(domain, item);
}

struct msgep_item *msgep_inbox_take(struct msgep_domain *domain)
{
	struct msgep_inbox *inbox = inbox_of(domain);
	struct msgep_item *item;

	dofi_lock(&inbox->lock);
	item = dofi_list_pop(&inbox->items, struct msgep_item, link);
	inbox->count -= !!item;
	dofi_unlock(&inbox->lock);
	return item;
}

/* Caller holds inbox->lock. */
static void inbox_watch_fds(struct msgep_inbox *inbox, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd[MSGEP_WAIT_FDS], n;

	DOFI_ASSERT_LOCKED(&inbox->lock);
	if (on == inbox->watching)
		return;
	ev.data.ptr = &inbox->transport;
	n = inbox->domain->fabric->transport->wait_fds(inbox->domain, fd);
	for (int i = 0; i < n; i++)
		epoll_ctl(inbox->cm->epfd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd[i], &ev);
	inbox->watching = on;
}

void msgep_inbox_watch(struct msgep_domain *domain, bool on)
{
	struct msgep_inbox *inbox = inbox_of(domain);

	if (!inbox)
		return;
	dofi_lock(&inbox->lock);
	if (inbox->cm)
		inbox_watch_fds(inbox, on);
	dofi_unlock(&inbox->lock);
}

static void inbox_fini_timers(struct msgep_inbox *inbox, struct msgep_cm *cm)
{
	dofi_timer_drop(&cm->timers, &inbox->check);
	dofi_timer_drop(&cm->timers, &inbox->reap);
	dofi_timer_drop(&cm->timers, &inbox->again);
}

static int inbox_init_timers(struct msgep_inbox *inbox, struct msgep_cm *cm)
{
	int ret = dofi_timer_add(&cm->timers, &inbox->check, inbox_check);

	if (ret)
		return ret;
	ret = dofi_timer_add(&cm->timers, &inbox->reap, inbox_reap);
	if (ret) {
		dofi_timer_drop(&cm->timers, &inbox->check);
		return ret;
	}
	ret = dofi_timer_add(&cm->timers, &inbox->again, inbox_again);
	if (ret) {
		dofi_timer_drop(&cm->timers, &inbox->check);
		dofi_timer_drop(&cm->timers, &inbox->reap);
	}
	return ret;
}

int msgep_inbox_attach(struct msgep_domain *domain, struct msgep_eq *eq)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct msgep_inbox *inbox = inbox_of(domain);
	struct msgep_cm *cm = eq->cm;
	int ret;

	DOFI_ASSERT_LOCKED(&eq->lock);
	if (!inbox || inbox->cm)
		return 0;
	ret = inbox_init_timers(inbox, cm);
	if (ret)
		return ret;
	ev.data.ptr = &inbox->doorbell;
	if (epoll_ctl(cm->epfd, EPOLL_CTL_ADD, inbox->fd, &ev)) {
		ret = -errno;
		inbox_fini_timers(inbox, cm);
		return ret;
	}
	dofi_lock(&inbox->lock);
	inbox->cm = cm;
	if (inbox->retry)
		msgep_cm_retry_soon(cm);
	dofi_unlock(&inbox->lock);
	dofi_list_append(&cm->inboxes, &inbox->link);
	inbox_arm_check(inbox);
	inbox_arm_reap(inbox);
	return 0;
}

/* The event queue receives no more messages. Caller holds eq->lock. */
static void inbox_detach(struct msgep_inbox *inbox)
{
	inbox_fini_timers(inbox, inbox->cm);
	dofi_lock(&inbox->lock);
	inbox_watch_fds(inbox, false);
	epoll_ctl(inbox->cm->epfd, EPOLL_CTL_DEL, inbox->fd, NULL);
	inbox->cm = NULL;
	dofi_unlock(&inbox->lock);
	dofi_list_remove(&inbox->link);
}

void msgep_inbox_detach_all(struct msgep_cm *cm)
{
	while (!dofi_list_empty(&cm->inboxes))
		inbox_detach(dofi_container(cm->inboxes.next, struct msgep_inbox, link));
}

/* Requests that came by the routes of the domain cannot be answered. */
static void inbox_forget_routes(struct msgep_cm *cm, const struct msgep_domain *domain)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns)
	{
		struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		if (conn->domain == domain && !conn->ep)
			conn->gone = true;
	}
}

void msgep_inbox_close(struct msgep_domain *domain)
{
	struct msgep_inbox *inbox = inbox_of(domain);
	struct msgep_item *item;
	struct msgep_eq *eq;

	if (!inbox)
		return;
	if (inbox->cm) {
		eq = inbox->cm->eq;
		pthread_mutex_lock(&eq->lock);
		inbox_forget_routes(inbox->cm, domain);
		inbox_detach(inbox);
		pthread_mutex_unlock(&eq->lock);
	}
	while ((item = msgep_inbox_take(domain)) || (item = inbox_take_spare(inbox, 0)))
		free(item);
	dofi_forkfd_close(inbox->fd);
	domain->inbox = NULL;
	free(inbox);
}
