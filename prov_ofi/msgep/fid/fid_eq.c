/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fab_info.h"
#include "msgep/cm/cm.h"
#include "msgep/wait.h"

static struct msgep_eq *eq_of(struct fid_eq *fid)
{
	return dofi_container(fid, struct msgep_eq, fid);
}

static void eq_free_event(struct msgep_event *event)
{
	if (event->event == FI_CONNREQ && event->info) {
		msgep_cm_drop_request(event->info->handle);
		dofi_own_info_free(event->info);
	}
	free(event);
}

void msgep_eq_forget(struct msgep_eq *eq, struct fid *fid)
{
	struct dofi_list gone, *pos, *tmp;

	msgep_eq_take_of(eq, fid, &gone);
	dofi_list_each_safe(pos, tmp, &gone)
		eq_free_event(dofi_container(pos, struct msgep_event, link));
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *number, void *buf, size_t len, uint64_t flags)
{
	struct msgep_eq *eq = eq_of(fid);
	struct fi_eq_cm_entry *entry = buf;
	struct msgep_event *event;
	size_t data;
	bool error;

	if (flags || len < sizeof(*entry))
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->lock);
	msgep_cm_progress(eq);
	pthread_mutex_unlock(&eq->lock);
	event = msgep_eq_take(eq, false, &error);
	if (!event)
		return error ? -FI_EAVAIL : -FI_EAGAIN;
	data = event->len;
	if (data > len - sizeof(*entry))
		data = len - sizeof(*entry);
	*number = event->event;
	entry->fid = event->fid;
	entry->info = event->info;
	memcpy(entry->data, event->data, data);
	free(event); /* the reader owns the info now */
	return (ssize_t)(sizeof(*entry) + data);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *err, uint64_t flags)
{
	struct msgep_event *event;
	bool other;

	(void)flags;
	event = msgep_eq_take(eq_of(fid), true, &other);
	if (!event)
		return -FI_EAGAIN;
	err->fid = event->fid;
	err->context = event->fid ? event->fid->context : NULL;
	err->err = event->err;
	err->prov_errno = event->prov_errno;
	if (err->err_data && event->len < err->err_data_size)
		err->err_data_size = event->len;
	if (err->err_data)
		memcpy(err->err_data, event->data, err->err_data_size);
	eq_free_event(event);
	return sizeof(*err);
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	*(int *)arg = dofi_container(fid, struct msgep_eq, fid.fid)->epfd;
	return 0;
}

static void eq_release_event(struct msgep_eq *eq)
{
	msgep_wait_close(eq->epfd, eq->signal);
	pthread_mutex_destroy(&eq->lock);
	pthread_mutex_destroy(&eq->event_lock);
	free(eq);
}

static int eq_close(struct fid *fid)
{
	struct msgep_eq *eq = dofi_container(fid, struct msgep_eq, fid.fid);
	struct dofi_list *pos, *tmp;

	pthread_mutex_lock(&eq->lock);
	dofi_list_each_safe(pos, tmp, &eq->events)
		eq_free_event(dofi_container(pos, struct msgep_event, link));
	msgep_cm_close(eq);
	pthread_mutex_unlock(&eq->lock);
	eq_release_event(eq);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.control = eq_control,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
};

int msgep_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		  void *context)
{
	struct msgep_eq *eq = calloc(1, sizeof(*eq));
	int ret;

	(void)attr;
	if (!eq)
		return -FI_ENOMEM;
	msgep_fid_init(&eq->fid.fid, FI_CLASS_EQ, context, &eq_fid_ops);
	eq->fid.ops = &eq_ops;
	eq->fabric = dofi_container(fabric, struct msgep_fabric, fid);
	eq->epfd = eq->signal = -1;
	pthread_mutex_init(&eq->lock, NULL);
	pthread_mutex_init(&eq->event_lock, NULL);
	dofi_list_init(&eq->events);
	dofi_list_init(&eq->checked_eps);
	ret = msgep_wait_open(&eq->epfd, &eq->signal);
	if (!ret)
		ret = msgep_cm_open(eq);
	if (ret) {
		eq_release_event(eq);
		return ret;
	}
	*out = &eq->fid;
	return 0;
}
