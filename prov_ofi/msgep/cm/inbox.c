/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes messages from a transport to the connection manager. */
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

/* Looks at the transport until it agrees to sleep. */
#define TRIES 256
/* Room of the items that are kept: for what ends a connection (BYE has the most; MOVED and GONE have
 * a header only), and for every message. */
#define ROOM_END (RDM_CM_HDR + 32)
#define ROOM_ANY RDM_CM_MAX

struct rdm_inbox {
	struct rdm_source bell, wire;	/* in cm->epfd */
	struct rdm_domain *domain;
	struct rdm_cm *cm;		/* NULL: none; eq->lock and lock to write */
	struct dofi_list link;		/* cm->inboxes; eq->lock */
	struct rdm_lock lock;
	struct dofi_list items;
	struct dofi_list spares;	/* for messages that come when there is no memory, */
	struct dofi_list answers;	/* for answers to requests */
	uint32_t n_answers, n_expected;	/* those that there are, and should be */
	uint32_t count;
	bool rung, watching;
	int fd;
	struct dofi_timer check;	/* of the hosts */
};

static struct rdm_inbox *inbox_of(const struct rdm_domain *domain)
{
	return domain->inbox;
}

static void bell_ready(struct rdm_source *source, uint32_t events)
{
	struct rdm_inbox *inbox = dofi_container(source, struct rdm_inbox, bell);

	(void)events;
	rdm_lock(&inbox->lock);
	inbox->rung = false;
	dofi_eventfd_clear(inbox->fd);
	rdm_unlock(&inbox->lock);
	rdm_cm_take_items(inbox->cm, inbox->domain);
	rdm_lock(&inbox->lock);
	if (inbox->count && !inbox->rung) {
		inbox->rung = true;
		dofi_eventfd_set(inbox->fd);
	}
	rdm_unlock(&inbox->lock);
}

static void wire_ready(struct rdm_source *source, uint32_t events)
{
	struct rdm_domain *domain = dofi_container(source, struct rdm_inbox, wire)->domain;
	const struct rdm_wire *wire = domain->fabric->wire;
	int tries = TRIES;

	(void)events;
	do {
		wire->progress(domain, NULL);
	} while (!wire->may_sleep(domain) && --tries);
}

static void arm_check(struct rdm_inbox *inbox)
{
	uint64_t after = DOFI_MS(1000) * (uint64_t)dofi_param(DOFI_NUM_KEEPALIVE_S);

	if (after)
		rdm_cm_arm(inbox->cm, &inbox->check, dofi_now() + after);
}

static void check(struct dofi_timer *timer)
{
	struct rdm_inbox *inbox = dofi_container(timer, struct rdm_inbox, check);

	inbox->domain->fabric->wire->check_hosts(inbox->domain);
	arm_check(inbox);
}

int rdm_inbox_open(struct rdm_domain *domain)
{
	struct rdm_inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox)
		return -FI_ENOMEM;
	inbox->fd = dofi_forkfd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	if (inbox->fd < 0) {
		free(inbox);
		return -errno;
	}
	inbox->bell.ready = bell_ready;
	inbox->wire.ready = wire_ready;
	inbox->domain = domain;
	dofi_list_init(&inbox->link);
	dofi_list_init(&inbox->items);
	dofi_list_init(&inbox->spares);
	dofi_list_init(&inbox->answers);
	rdm_lock_init(&inbox->lock);
	domain->inbox = inbox;
	return 0;
}

/* One with room for so much; NULL: there is none. */
static struct rdm_item *take_spare(struct rdm_inbox *inbox, size_t len)
{
	struct dofi_list *list = &inbox->spares;
	struct rdm_item *item = NULL;

	rdm_lock(&inbox->lock);
	if (len > ROOM_END || dofi_list_empty(list))
		list = &inbox->answers;
	if (len <= ROOM_ANY && !dofi_list_empty(list)) {
		item = dofi_container(list->next, struct rdm_item, link);
		dofi_list_remove(&item->link);
	}
	rdm_unlock(&inbox->lock);
	return item;
}

void rdm_inbox_close(struct rdm_domain *domain)
{
	struct rdm_inbox *inbox = inbox_of(domain);
	struct rdm_item *item;
	struct rdm_eq *eq;

	if (!inbox)
		return;
	if (inbox->cm) {
		eq = inbox->cm->eq;
		pthread_mutex_lock(&eq->lock);
		rdm_cm_forget_routes(inbox->cm, domain);
		rdm_inbox_detach(domain);
		pthread_mutex_unlock(&eq->lock);
	}
	while ((item = rdm_inbox_take(domain)) || (item = take_spare(inbox, 0)))
		free(item);
	dofi_forkfd_close(inbox->fd);
	domain->inbox = NULL;
	free(inbox);
}

bool rdm_inbox_put(struct rdm_domain *domain, const struct rdm_item *what, const void *data)
{
	struct rdm_inbox *inbox = inbox_of(domain);
	struct rdm_item *item = inbox ? malloc(sizeof(*item) + what->len) : NULL;
	uint16_t spare = 0;
	bool room;

	if (!item && inbox && what->kind != RDM_ITEM_REQUEST) {
		item = take_spare(inbox, what->len);
		spare = item ? item->spare : 0;
	}
	if (!item)
		return false;
	*item = *what;
	item->spare = spare;
	dofi_list_init(&item->link);
	if (what->len)
		memcpy(item->data, data, what->len);
	rdm_lock(&inbox->lock);
	room = inbox->cm && (what->kind != RDM_ITEM_REQUEST || inbox->count < RDM_INBOX_MOST);
	if (room) {
		dofi_list_append(&inbox->items, &item->link);
		inbox->count++;
		if (!inbox->rung)
			dofi_eventfd_set(inbox->fd);
		inbox->rung = true;
	}
	rdm_unlock(&inbox->lock);
	if (!room)
		rdm_inbox_free(domain, item);
	return room;
}

void rdm_inbox_free(struct rdm_domain *domain, struct rdm_item *item)
{
	struct rdm_inbox *inbox = inbox_of(domain);
	bool keep = item->spare;

	rdm_lock(&inbox->lock);
	if (item->spare == ROOM_ANY && inbox->n_answers > inbox->n_expected) {
		inbox->n_answers--;
		keep = false;
	}
	if (keep)
		dofi_list_append(item->spare == ROOM_ANY ? &inbox->answers : &inbox->spares,
				 &item->link);
	rdm_unlock(&inbox->lock);
	if (!keep)
		free(item);
}

static struct rdm_item *new_spare(uint16_t room)
{
	struct rdm_item *item = malloc(sizeof(*item) + room);

	if (!item)
		return NULL;
	item->spare = room;
	dofi_list_init(&item->link);
	return item;
}

int rdm_inbox_spare(struct rdm_domain *domain)
{
	struct rdm_item *item = new_spare(ROOM_END);

	if (!item)
		return -FI_ENOMEM;
	rdm_inbox_free(domain, item);
	return 0;
}

int rdm_inbox_expect(struct rdm_domain *domain)
{
	struct rdm_inbox *inbox = inbox_of(domain);
	struct rdm_item *item = new_spare(ROOM_ANY);

	if (!item)
		return -FI_ENOMEM;
	rdm_lock(&inbox->lock);
	inbox->n_expected++;
	inbox->n_answers++;
	rdm_unlock(&inbox->lock);
	rdm_inbox_free(domain, item);
	return 0;
}

void rdm_inbox_expected(struct rdm_domain *domain)
{
	struct rdm_inbox *inbox = inbox_of(domain);
	struct rdm_item *item = NULL;

	rdm_lock(&inbox->lock);
	inbox->n_expected--;
	if (!dofi_list_empty(&inbox->answers)) {
		item = dofi_container(inbox->answers.next, struct rdm_item, link);
		dofi_list_remove(&item->link);
	}
	rdm_unlock(&inbox->lock);
	/* Else the one that is in use goes when it has been. */
	if (item)
		rdm_inbox_free(domain, item);
}

struct rdm_item *rdm_inbox_take(struct rdm_domain *domain)
{
	struct rdm_inbox *inbox = inbox_of(domain);
	struct rdm_item *item = NULL;

	rdm_lock(&inbox->lock);
	if (!dofi_list_empty(&inbox->items)) {
		item = dofi_container(inbox->items.next, struct rdm_item, link);
		dofi_list_remove(&item->link);
		inbox->count--;
	}
	rdm_unlock(&inbox->lock);
	return item;
}

/* inbox->lock held. */
static void watch_fds(struct rdm_inbox *inbox, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd[RDM_WAIT_FDS], n;

	if (on == inbox->watching)
		return;
	ev.data.ptr = &inbox->wire;
	n = inbox->domain->fabric->wire->wait_fds(inbox->domain, fd);
	for (int i = 0; i < n; i++)
		epoll_ctl(inbox->cm->epfd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd[i], &ev);
	inbox->watching = on;
}

void rdm_inbox_watch(struct rdm_domain *domain, bool on)
{
	struct rdm_inbox *inbox = inbox_of(domain);

	if (!inbox)
		return;
	rdm_lock(&inbox->lock);
	if (inbox->cm)
		watch_fds(inbox, on);
	rdm_unlock(&inbox->lock);
}

int rdm_inbox_attach(struct rdm_domain *domain, struct rdm_eq *eq)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct rdm_inbox *inbox = inbox_of(domain);
	struct rdm_cm *cm = eq->cm;
	int ret;

	if (!inbox || inbox->cm)
		return 0;
	ret = rdm_cm_timer_init(cm, &inbox->check, check);
	if (ret)
		return ret;
	ev.data.ptr = &inbox->bell;
	if (epoll_ctl(cm->epfd, EPOLL_CTL_ADD, inbox->fd, &ev)) {
		rdm_cm_timer_fini(cm, &inbox->check);
		return -errno;
	}
	rdm_lock(&inbox->lock);
	inbox->cm = cm;
	rdm_unlock(&inbox->lock);
	dofi_list_append(&cm->inboxes, &inbox->link);
	arm_check(inbox);
	return 0;
}

void rdm_inbox_detach(struct rdm_domain *domain)
{
	struct rdm_inbox *inbox = inbox_of(domain);

	rdm_cm_timer_fini(inbox->cm, &inbox->check);
	rdm_lock(&inbox->lock);
	watch_fds(inbox, false);
	epoll_ctl(inbox->cm->epfd, EPOLL_CTL_DEL, inbox->fd, NULL);
	inbox->cm = NULL;
	rdm_unlock(&inbox->lock);
	dofi_list_remove(&inbox->link);
}

void rdm_inbox_detach_all(struct rdm_cm *cm)
{
	while (!dofi_list_empty(&cm->inboxes))
		rdm_inbox_detach(dofi_container(cm->inboxes.next, struct rdm_inbox, link)->domain);
}
