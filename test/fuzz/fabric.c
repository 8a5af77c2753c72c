/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements a fake fabric. Receives wait until the target delivers data to them. Sends complete
 * at the next read of the completion queue. AddressSanitizer detects deliveries beyond a buffer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_tagged.h>

#include "fabric/fab.h"
#include "fabric/fab_lib.h"
#include "fabric.h"

#define ROOM 4096
#define NAME "a fabric of nothing"

/* Allocates an fi_info with its parts, as libfabric does. */
struct whole {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

struct posted {
	void *context;
	void *buf;
	size_t len;
};

struct queue {
	struct posted at[ROOM];
	unsigned int n;
};

static struct queue receives[2], sends;
static struct {
	struct fi_cq_msg_entry entry;
	int err;
} over[ROOM];
static unsigned int n_over, refusals;
static int open_objects;
static bool registers;

static struct posted take(struct queue *q)
{
	struct posted first = q->at[0];

	memmove(q->at, q->at + 1, --q->n * sizeof(*q->at));
	return first;
}

static ssize_t post(struct queue *q, void *context, void *buf, size_t len)
{
	if (refusals) {
		refusals--;
		return -FI_EAGAIN;
	}
	if (q->n == ROOM)
		return -FI_EAGAIN;
	q->at[q->n++] = (struct posted){ context, buf, len };
	return 0;
}

static void finish(const struct posted *p, uint64_t flags, size_t len, int err)
{
	if (n_over == ROOM)
		abort();
	over[n_over].entry = (struct fi_cq_msg_entry){ p->context, flags, len };
	over[n_over++].err = err;
}

/* ---------------------------------------------------------------- by hand */

bool fabric_closed(void)
{
	return !open_objects;
}

size_t fabric_next_recv_len(bool tagged)
{
	return receives[tagged].n ? receives[tagged].at[0].len : 0;
}

void fabric_deliver(bool tagged, const void *data, size_t len)
{
	struct posted p = take(&receives[tagged]);

	memcpy(p.buf, data, len);
	finish(&p, FI_RECV, len, 0);
}

void fabric_fail_receive(bool tagged)
{
	struct posted p;

	if (!receives[tagged].n)
		return;
	p = take(&receives[tagged]);
	finish(&p, FI_RECV, 0, FI_ETRUNC);
}

void fabric_fail_send(void)
{
	struct posted p;

	if (!sends.n)
		return;
	p = take(&sends);
	finish(&p, FI_SEND, 0, FI_EIO);
}

void fabric_refuse(unsigned int n)
{
	refusals = n;
}

/* ---------------------------------------------------------------- endpoint */

static int close_object(struct fid *fid)
{
	open_objects--;
	free(fid);
	return 0;
}

static ssize_t ep_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
		       void *context)
{
	(void)ep;
	(void)desc;
	(void)from;
	return post(&receives[0], context, buf, len);
}

static ssize_t ep_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t tag, uint64_t ignore, void *context)
{
	(void)ep;
	(void)desc;
	(void)from;
	(void)tag;
	(void)ignore;
	return post(&receives[1], context, buf, len);
}

static ssize_t ep_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		       void *context)
{
	(void)ep;
	(void)desc;
	(void)to;
	return post(&sends, context, (void *)(uintptr_t)buf, len);
}

static ssize_t ep_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			uint64_t tag, void *context)
{
	(void)tag;
	return ep_send(ep, buf, len, desc, to, context);
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid;
	(void)other;
	(void)flags;
	return 0;
}

static int control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)arg;
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int ep_name(fid_t fid, void *name, size_t *len)
{
	(void)fid;
	memcpy(name, NAME, sizeof(NAME));
	*len = sizeof(NAME);
	return 0;
}

/* clang-format off */
static struct fi_ops object_ops = {
	.size = sizeof(struct fi_ops), .close = close_object, .bind = ep_bind, .control = control,
};
/* clang-format on */

static void *new_object(size_t size, size_t fid_at)
{
	char *object = calloc(1, size);

	((struct fid *)(void *)(object + fid_at))->ops = &object_ops;
	open_objects++;
	return object;
}
/* In all of libfabric's objects the fid comes first. */
#define NEW(type_) new_object(sizeof(type_), offsetof(type_, fid))

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		   void *context)
{
	static struct fi_ops_msg msg = {
		.size = sizeof(msg),
		.recv = ep_recv,
		.send = ep_send,
	};
	static struct fi_ops_tagged tagged = {
		.size = sizeof(tagged),
		.recv = ep_trecv,
		.send = ep_tsend,
	};
	static struct fi_ops_cm cm = { .size = sizeof(cm), .getname = ep_name };

	(void)domain;
	(void)info;
	(void)context;
	*out = NEW(struct fid_ep);
	(*out)->msg = &msg;
	(*out)->tagged = &tagged;
	(*out)->cm = &cm;
	return 0;
}

/* ---------------------------------------------------------------- queue, addresses, memory */

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_msg_entry *out = buf;
	size_t n = 0;

	(void)cq;
	while (sends.n && n_over < ROOM) {
		struct posted p = take(&sends);

		finish(&p, FI_SEND, 0, 0);
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

static int open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
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
	*out = NEW(struct fid_cq);
	(*out)->ops = &ops;
	return 0;
}

static int av_insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *out,
		     uint64_t flags, void *context)
{
	(void)av;
	(void)addr;
	(void)flags;
	(void)context;
	*out = 1;
	return (int)count;
}

static int av_remove(struct fid_av *av, fi_addr_t *addr, size_t count, uint64_t flags)
{
	(void)av;
	(void)addr;
	(void)count;
	(void)flags;
	return 0;
}

static int open_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		   void *context)
{
	static struct fi_ops_av ops = {
		.size = sizeof(ops),
		.insert = av_insert,
		.remove = av_remove,
	};

	(void)domain;
	(void)attr;
	(void)context;
	*out = NEW(struct fid_av);
	(*out)->ops = &ops;
	return 0;
}

static int reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
	       uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
	(void)fid;
	(void)buf;
	(void)len;
	(void)access;
	(void)offset;
	(void)key;
	(void)flags;
	(void)context;
	*out = NEW(struct fid_mr);
	return 0;
}

/* ---------------------------------------------------------------- domain, fabric, library */

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	static struct fi_ops_domain ops = {
		.size = sizeof(ops),
		.av_open = open_av,
		.cq_open = open_cq,
		.endpoint = open_ep,
	};
	static struct fi_ops_mr mr = { .size = sizeof(mr), .reg = reg };

	(void)fabric;
	(void)info;
	(void)context;
	*out = NEW(struct fid_domain);
	(*out)->ops = &ops;
	(*out)->mr = &mr;
	return 0;
}

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	static struct fi_ops_fabric ops = { .size = sizeof(ops), .domain = open_domain };

	(void)attr;
	(void)context;
	*out = NEW(struct fid_fabric);
	(*out)->ops = &ops;
	return 0;
}

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
	w->info.src_addr = NULL;
	return &w->info;
}

static void freeinfo(struct fi_info *info)
{
	free(info->fabric_attr->prov_name);
	free(info->src_addr);
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
	(*out)->ep_attr->max_msg_size = 1 << 20;
	(*out)->tx_attr->size = (*out)->rx_attr->size = 256;
	(*out)->domain_attr->mr_mode = registers ? FI_MR_LOCAL : 0;
	return 0;
}

static uint32_t version(void)
{
	return FI_VERSION(1, 17);
}

struct dofi_lib dofi_lib;

size_t dofi_lib_rxm_limit(size_t buffer)
{
	return buffer;
}

void fabric_open(bool local)
{
	dofi_lib = (struct dofi_lib){ .getinfo = getinfo,
				      .freeinfo = freeinfo,
				      .dupinfo = dupinfo,
				      .fabric = open_fabric,
				      .version = version };
	receives[0].n = receives[1].n = sends.n = n_over = refusals = 0;
	registers = local;
}
