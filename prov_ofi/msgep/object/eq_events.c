/* SPDX-License-Identifier: BSD-2-Clause */
/* What an event queue holds until it is read: events, and endpoints whose path has been checked. */
#include "msgep/msgep.h"
#include "msgep/wait.h"

/* Not in a file of the program, which could make the call wait. */
static void eq_signal(struct msgep_eq *eq, void (*change)(int fd))
{
	if (dofi_forkfd_is_open(eq->signal))
		change(eq->signal);
}

/* Events have been removed. Caller holds event_lock. Without any left no thread should be woken. */
static void eq_clear_signal(struct msgep_eq *eq)
{
	DOFI_ASSERT_LOCKED(&eq->event_lock);
	if (dofi_list_empty(&eq->events) && dofi_list_empty(&eq->checked_eps))
		eq_signal(eq, dofi_eventfd_clear);
}

void msgep_eq_push(struct msgep_eq *eq, struct msgep_event *event)
{
	pthread_mutex_lock(&eq->event_lock);
	dofi_list_append(&eq->events, &event->link);
	eq_signal(eq, dofi_eventfd_set);
	pthread_mutex_unlock(&eq->event_lock);
}

void msgep_ep_path_checked(struct msgep_ep *ep)
{
	struct msgep_eq *eq = ep->eq;

	pthread_mutex_lock(&eq->event_lock);
	if (dofi_list_empty(&ep->checked_link)) {
		dofi_list_append(&eq->checked_eps, &ep->checked_link);
		eq_signal(eq, dofi_eventfd_set);
	}
	pthread_mutex_unlock(&eq->event_lock);
}

struct msgep_ep *msgep_eq_next_checked(struct msgep_eq *eq)
{
	struct msgep_ep *ep;

	pthread_mutex_lock(&eq->event_lock);
	ep = dofi_list_pop(&eq->checked_eps, struct msgep_ep, checked_link);
	if (ep)
		eq_clear_signal(eq);
	pthread_mutex_unlock(&eq->event_lock);
	return ep;
}

void msgep_eq_forget_checked(struct msgep_eq *eq, struct msgep_ep *ep)
{
	pthread_mutex_lock(&eq->event_lock);
	dofi_list_remove(&ep->checked_link);
	eq_clear_signal(eq);
	pthread_mutex_unlock(&eq->event_lock);
}

void msgep_eq_take_of(struct msgep_eq *eq, struct fid *fid, struct dofi_list *gone)
{
	struct dofi_list *pos, *tmp;

	dofi_list_init(gone);
	pthread_mutex_lock(&eq->event_lock);
	dofi_list_each_safe(pos, tmp, &eq->events)
	{
		struct msgep_event *event = dofi_container(pos, struct msgep_event, link);

		if (event->fid != fid)
			continue;
		dofi_list_remove(pos);
		dofi_list_append(gone, pos);
	}
	eq_clear_signal(eq);
	pthread_mutex_unlock(&eq->event_lock);
}

struct msgep_event *msgep_eq_take(struct msgep_eq *eq, bool error, bool *other)
{
	struct msgep_event *event = NULL;

	*other = false;
	pthread_mutex_lock(&eq->event_lock);
	if (!dofi_list_empty(&eq->events)) {
		event = dofi_container(eq->events.next, struct msgep_event, link);
		if (!event->event != error) {
			event = NULL;
			*other = true;
		} else {
			dofi_list_remove(&event->link);
		}
	}
	if (event)
		eq_clear_signal(eq);
	pthread_mutex_unlock(&eq->event_lock);
	return event;
}

int msgep_eq_trywait(struct msgep_eq *eq)
{
	bool empty;

	pthread_mutex_lock(&eq->event_lock);
	empty = dofi_list_empty(&eq->events) && dofi_list_empty(&eq->checked_eps);
	pthread_mutex_unlock(&eq->event_lock);
	return empty ? 0 : -FI_EAGAIN;
}
