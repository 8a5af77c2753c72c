/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements what the fake fabrics of the fuzz targets have in common: posted operations, the
 * completion queue, objects, and fi_info.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* Allocates an fi_info with its parts, as libfabric does. */
struct whole {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

struct fake_queue fake_sends;
bool fake_held, fake_waits;
unsigned int fake_refusals;

static struct {
	struct fi_cq_msg_entry entry;
	int err;
} over[2 * FAKE_ROOM];
static unsigned int n_over;
static int open_objects;
static uint32_t lib_version;
static void (*adapt_info)(struct fi_info *info);

/* ---------------------------------------------------------------- operations */

struct fake_posted fake_take(struct fake_queue *q, unsigned int i)
{
	struct fake_posted p = q->at[i];

	memmove(q->at + i, q->at + i + 1, (--q->n - i) * sizeof(*q->at));
	return p;
}

int fake_oldest(const struct fake_queue *q, const void *owner)
{
	for (unsigned int i = 0; i < q->n; i++)
		if (!owner || q->at[i].owner == owner)
			return (int)i;
	return -1;
}

bool fake_refused(void)
{
	if (!fake_refusals)
		return false;
	fake_refusals--;
	return true;
}

ssize_t fake_post(struct fake_queue *q, const void *owner, void *context, const struct iovec *iov,
		  size_t count)
{
	struct fake_posted *p = &q->at[q->n];

	if (q->n == FAKE_ROOM)
		return -FI_EAGAIN;
	MUST(count <= 4);
	p->owner = owner;
	p->context = context;
	p->count = count;
	memcpy(p->iov, iov, count * sizeof(*iov));
	q->n++;
	return 0;
}

void fake_finish(const struct fake_posted *p, uint64_t flags, size_t len, int err)
{
	MUST(n_over < 2 * FAKE_ROOM);
	over[n_over].entry = (struct fi_cq_msg_entry){ p->context, flags, len };
	over[n_over++].err = err;
}

void fake_cancel(struct fake_queue *q, const void *owner, uint64_t flags)
{
	int i;

	while ((i = fake_oldest(q, owner)) >= 0) {
		struct fake_posted p = fake_take(q, (unsigned int)i);

		fake_finish(&p, flags, 0, FI_ECANCELED);
	}
}

bool fake_has_completions(void)
{
	return n_over;
}

void fake_fail_send(int err)
{
	struct fake_posted p;

	if (!fake_sends.n)
		return;
	p = fake_take(&fake_sends, 0);
	fake_finish(&p, FI_SEND, 0, err);
}

ssize_t fake_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		  void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	(void)desc;
	(void)to;
	return fake_refused() ? -FI_EAGAIN : fake_post(&fake_sends, ep, context, &iov, 1);
}

/* ---------------------------------------------------------------- objects */

static int close_object(struct fid *fid)
{
	fake_closing(fid);
	open_objects--;
	free(fid);
	return 0;
}

static int bind_object(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid;
	(void)other;
	(void)flags;
	return 0;
}

/* Descriptors are always readable. */
static int control(struct fid *fid, int command, void *arg)
{
	static int fd = -1;

	(void)fid;
	if (command == FI_ENABLE)
		return 0;
	if (command != FI_GETWAIT || !fake_waits)
		return -FI_ENOSYS;
	if (fd < 0)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	*(int *)arg = fd;
	return 0;
}

/* clang-format off */
static struct fi_ops object_ops = {
	.size = sizeof(struct fi_ops), .close = close_object, .bind = bind_object,
	.control = control,
};
/* clang-format on */

void *fake_object(size_t size, size_t fclass)
{
	struct fid *fid = calloc(1, size);

	fid->fclass = fclass;
	fid->ops = &object_ops;
	open_objects++;
	return fid;
}

bool fake_closed(void)
{
	return !open_objects;
}

/* ---------------------------------------------------------------- completion queue */

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_msg_entry *out = buf;
	size_t n = 0;

	(void)cq;
	while (fake_sends.n && !fake_held && n_over < FAKE_ROOM) {
		struct fake_posted p = fake_take(&fake_sends, 0);

		fake_finish(&p, FI_SEND, 0, 0);
	}
	while (n < count && n < n_over && !over[n].err) {
		out[n] = over[n].entry;
		n++;
	}
	if (!n)
		return n_over ? -FI_EAVAIL : -FI_EAGAIN;
	n_over -= (unsigned int)n;
	memmove(over, over + n, n_over * sizeof(*over));
	return (ssize_t)n;
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *out, uint64_t flags)
{
	(void)cq;
	(void)flags;
	if (!n_over || !over[0].err)
		return -FI_EAGAIN;
	out->op_context = over[0].entry.op_context;
	out->flags = over[0].entry.flags;
	out->err = over[0].err;
	memmove(over, over + 1, --n_over * sizeof(*over));
	return 1;
}

int fake_open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		 void *context)
{
	static struct fi_ops_cq ops = {
		.size = sizeof(ops),
		.read = cq_read,
		.readerr = cq_readerr,
	};

	(void)domain;
	(void)attr;
	(void)context;
	*out = fake_object(sizeof(**out), FI_CLASS_CQ);
	(*out)->ops = &ops;
	return 0;
}

/* ---------------------------------------------------------------- library */

static struct fi_info *dupinfo(const struct fi_info *from)
{
	struct whole *w = calloc(1, sizeof(*w));

	if (from)
		memcpy(w, from, sizeof(*w));
	w->info.next = NULL;
	w->info.tx_attr = &w->tx;
	w->info.rx_attr = &w->rx;
	w->info.ep_attr = &w->ep;
	w->info.domain_attr = &w->domain;
	w->info.fabric_attr = &w->fabric;
	if (from && w->fabric.prov_name)
		w->fabric.prov_name = strdup(w->fabric.prov_name);
	w->info.src_addr = w->info.dest_addr = NULL;
	return &w->info;
}

static void freeinfo(struct fi_info *info)
{
	free(info->fabric_attr->prov_name);
	free(info->src_addr);
	free(info->dest_addr);
	free(info);
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **out)
{
	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	*out = dupinfo(hints);
	adapt_info(*out);
	return 0;
}

static uint32_t version(void)
{
	return lib_version;
}

struct dofi_lib dofi_lib;

void fake_open(uint32_t libfabric, void (*adapt)(struct fi_info *info),
	       int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context))
{
	dofi_lib = (struct dofi_lib){ .getinfo = getinfo,
				      .freeinfo = freeinfo,
				      .dupinfo = dupinfo,
				      .fabric = fabric,
				      .version = version };
	lib_version = libfabric;
	adapt_info = adapt;
	fake_sends.n = n_over = fake_refusals = 0;
	fake_held = false;
}
