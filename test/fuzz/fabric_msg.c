/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements fake connected endpoints of libfabric. Receives wait until the target delivers data
 * to them. Sent data is discarded, and sends complete at the next read of the completion queue.
 * Operations outstanding when an endpoint is closed fail. Under AddressSanitizer the part of a
 * receive buffer after a message is poisoned, but not the head of a packet, which the library
 * clears before it posts the buffer again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fab.h"
#include "fabric/fab_lib.h"
#include "fabric_msg.h"
#include "fuzz.h"

#ifndef __has_feature
#define __has_feature(what_) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at_, len_) ((void)(at_), (void)(len_))
#define ASAN_UNPOISON_MEMORY_REGION(at_, len_) ((void)(at_), (void)(len_))
#endif

#define ROOM 4096
#define EVENTS 64
#define PARAM_MOST 64
/* sizeof(struct pair_head) */
#define HEAD 16

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
	const void *owner; /* the endpoint, or the shared receive context */
	void *context;
	struct iovec iov[4];
	size_t count;
};

struct queue {
	struct posted at[ROOM];
	unsigned int n;
};

static struct queue receives, sends;
static struct {
	struct fi_cq_msg_entry entry;
	int err;
} over[2 * ROOM];
static unsigned int n_over, n_events, refusals;
static struct {
	uint32_t event;
	int err;
	size_t len;
	union {
		struct fi_eq_cm_entry entry;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + PARAM_MOST];
	} u;
} events[EVENTS];
static struct fid *listener;
static const void *shared;
static int open_objects;
static bool held;

static struct posted take(struct queue *q, unsigned int i)
{
	struct posted p = q->at[i];

	memmove(q->at + i, q->at + i + 1, (--q->n - i) * sizeof(*q->at));
	return p;
}

/* The oldest one of that owner; NULL: of any. */
static int oldest(const struct queue *q, const void *owner)
{
	for (unsigned int i = 0; i < q->n; i++)
		if (!owner || q->at[i].owner == owner)
			return (int)i;
	return -1;
}

static ssize_t post(struct queue *q, const void *owner, void *context, const struct iovec *iov,
		    size_t count)
{
	struct posted *p = &q->at[q->n];

	if (q == &sends && refusals) {
		refusals--;
		return -FI_EAGAIN;
	}
	if (q->n == ROOM)
		return -FI_EAGAIN;
	MUST(count <= 4);
	p->owner = owner;
	p->context = context;
	p->count = count;
	memcpy(p->iov, iov, count * sizeof(*iov));
	q->n++;
	return 0;
}

static void finish(const struct posted *p, uint64_t flags, size_t len, int err)
{
	MUST(n_over < 2 * ROOM);
	over[n_over].entry = (struct fi_cq_msg_entry){ p->context, flags, len };
	over[n_over++].err = err;
}

/* ---------------------------------------------------------------- by the target */

bool fabric_msg_closed(void)
{
	return !open_objects;
}

bool fabric_msg_deliver(const void *data, size_t len)
{
	int i = oldest(&receives, shared);
	struct posted p;
	size_t end;

	if (i < 0)
		return false;
	p = take(&receives, (unsigned int)i);
	MUST(len <= p.iov[0].iov_len);
	memcpy(p.iov[0].iov_base, data, len);
	end = len < HEAD ? HEAD : len;
	ASAN_POISON_MEMORY_REGION((char *)p.iov[0].iov_base + end, p.iov[0].iov_len - end);
	finish(&p, FI_RECV, len, 0);
	return true;
}

bool fabric_msg_arrive(const struct fid_ep *ep, size_t len, int err)
{
	int i = oldest(&receives, ep);
	size_t done = 0;
	struct posted p;

	if (i < 0)
		return false;
	p = take(&receives, (unsigned int)i);
	for (size_t part = 0; part < p.count && !err; part++) {
		size_t n = p.iov[part].iov_len < len - done ? p.iov[part].iov_len : len - done;

		memset(p.iov[part].iov_base, 'b', n);
		done += n;
	}
	finish(&p, FI_RECV, done, err);
	return true;
}

void fabric_msg_event(uint32_t event, struct fid *fid, const void *param, size_t len)
{
	MUST(n_events < EVENTS && len <= PARAM_MOST);
	memset(&events[n_events], 0, sizeof(*events));
	events[n_events].event = event;
	events[n_events].u.entry.fid = fid ? fid : listener;
	if (!fid)
		events[n_events].u.entry.info = dofi_lib.dupinfo(NULL);
	if (len)
		memcpy(events[n_events].u.entry.data, param, len);
	events[n_events++].len = sizeof(struct fi_eq_cm_entry) + len;
}

void fabric_msg_event_error(struct fid *fid, int err)
{
	fabric_msg_event(0, fid, NULL, 0);
	events[n_events - 1].err = err;
}

void fabric_msg_hold(bool hold)
{
	held = hold;
}

void fabric_msg_refuse(unsigned int n)
{
	refusals = n;
}

void fabric_msg_fail_send(void)
{
	struct posted p;

	if (!sends.n)
		return;
	p = take(&sends, 0);
	finish(&p, FI_SEND, 0, FI_ENOTCONN);
}

/* ---------------------------------------------------------------- objects */

static int close_object(struct fid *fid)
{
	int i;

	while ((i = oldest(&receives, fid)) >= 0) {
		struct posted p = take(&receives, (unsigned int)i);

		if (fid != shared)
			finish(&p, FI_RECV, 0, FI_ECANCELED);
	}
	while ((i = oldest(&sends, fid)) >= 0) {
		struct posted p = take(&sends, (unsigned int)i);

		finish(&p, FI_SEND, 0, FI_ECANCELED);
	}
	for (unsigned int e = 0; e < n_events; e++)
		if (events[e].u.entry.fid == fid && events[e].event != FI_CONNREQ)
			events[e].len = 0;
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

/* Always readable. */
static int control(struct fid *fid, int command, void *arg)
{
	static int fd = -1;

	(void)fid;
	if (command == FI_ENABLE)
		return 0;
	if (command != FI_GETWAIT)
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

static void *new_object(size_t size, size_t fclass)
{
	struct fid *fid = calloc(1, size);

	fid->fclass = fclass;
	fid->ops = &object_ops;
	open_objects++;
	return fid;
}

/* ---------------------------------------------------------------- endpoints */

static ssize_t ep_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
		       void *context)
{
	struct iovec iov = { buf, len };

	(void)desc;
	(void)from;
	ASAN_UNPOISON_MEMORY_REGION(buf, len);
	return post(&receives, ep, context, &iov, 1);
}

static ssize_t ep_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)flags;
	return post(&receives, ep, msg->context, msg->msg_iov, msg->iov_count);
}

static ssize_t ep_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		       void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	(void)desc;
	(void)to;
	return post(&sends, ep, context, &iov, 1);
}

static ssize_t ep_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)flags;
	return post(&sends, ep, msg->context, msg->msg_iov, msg->iov_count);
}

static ssize_t ep_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)to;
	if (!refusals)
		return 0;
	refusals--;
	return -FI_EAGAIN;
}

static int ep_connect(struct fid_ep *ep, const void *to, const void *param, size_t len)
{
	(void)ep;
	MUST(to && param && len <= PARAM_MOST);
	return 0;
}

static int ep_accept(struct fid_ep *ep, const void *param, size_t len)
{
	(void)ep;
	(void)param;
	MUST(len <= PARAM_MOST);
	return 0;
}

static int ep_shutdown(struct fid_ep *ep, uint64_t flags)
{
	int i;

	(void)flags;
	while ((i = oldest(&receives, ep)) >= 0) {
		struct posted p = take(&receives, (unsigned int)i);

		finish(&p, FI_RECV, 0, FI_ECANCELED);
	}
	return 0;
}

static int pep_listen(struct fid_pep *pep)
{
	listener = &pep->fid;
	return 0;
}

static int pep_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	(void)pep;
	(void)handle;
	(void)param;
	(void)len;
	return 0;
}

static int getname_(fid_t fid, void *name, size_t *len)
{
	union dofi_addr addr = { .in = { .sin_family = AF_INET, .sin_port = 1234 } };

	if (fid->fclass != FI_CLASS_PEP || *len < sizeof(addr))
		return -FI_ENOSYS;
	memcpy(name, &addr, sizeof(addr));
	return 0;
}

/* clang-format off */
static struct fi_ops_msg msg_ops = {
	.size = sizeof(msg_ops), .recv = ep_recv, .recvmsg = ep_recvmsg, .send = ep_send,
	.sendmsg = ep_sendmsg, .inject = ep_inject,
};
static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops), .getname = getname_, .connect = ep_connect, .accept = ep_accept,
	.shutdown = ep_shutdown, .listen = pep_listen, .reject = pep_reject,
};
/* clang-format on */

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		   void *context)
{
	(void)domain;
	(void)info;
	(void)context;
	*out = new_object(sizeof(**out), FI_CLASS_EP);
	(*out)->msg = &msg_ops;
	(*out)->cm = &cm_ops;
	return 0;
}

static int open_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **out,
		    void *context)
{
	(void)domain;
	(void)attr;
	(void)context;
	*out = new_object(sizeof(**out), FI_CLASS_SRX_CTX);
	(*out)->msg = &msg_ops;
	shared = *out;
	return 0;
}

static int open_pep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **out,
		    void *context)
{
	(void)fabric;
	(void)info;
	(void)context;
	*out = new_object(sizeof(**out), FI_CLASS_PEP);
	(*out)->cm = &cm_ops;
	return 0;
}

/* ---------------------------------------------------------------- queues */

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_msg_entry *out = buf;
	size_t n = 0;

	(void)cq;
	while (sends.n && !held) {
		struct posted p = take(&sends, 0);

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
	*out = new_object(sizeof(**out), FI_CLASS_CQ);
	(*out)->ops = &ops;
	return 0;
}

static void drop_event(void)
{
	memmove(events, events + 1, --n_events * sizeof(*events));
}

static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	ssize_t n;

	(void)eq;
	(void)flags;
	while (n_events && !events[0].len)
		drop_event();
	if (!n_events)
		return -FI_EAGAIN;
	if (events[0].err)
		return -FI_EAVAIL;
	MUST(len >= events[0].len);
	*event = events[0].event;
	memcpy(buf, &events[0].u, events[0].len);
	n = (ssize_t)events[0].len;
	drop_event();
	return n;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *out, uint64_t flags)
{
	(void)eq;
	(void)flags;
	if (!n_events || !events[0].err)
		return -FI_EAGAIN;
	out->fid = events[0].u.entry.fid;
	out->err = events[0].err;
	drop_event();
	return sizeof(*out);
}

static int open_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		   void *context)
{
	static struct fi_ops_eq ops = {
		.size = sizeof(ops),
		.read = eq_read,
		.readerr = eq_readerr,
	};

	(void)fabric;
	(void)attr;
	(void)context;
	*out = new_object(sizeof(**out), FI_CLASS_EQ);
	(*out)->ops = &ops;
	return 0;
}

/* ---------------------------------------------------------------- domain, fabric, library */

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	static struct fi_ops_domain ops = {
		.size = sizeof(ops),
		.cq_open = open_cq,
		.endpoint = open_ep,
		.srx_ctx = open_srx,
	};

	(void)fabric;
	(void)info;
	(void)context;
	*out = new_object(sizeof(**out), FI_CLASS_DOMAIN);
	(*out)->ops = &ops;
	return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	(void)fids;
	(void)count;
	return n_over || n_events ? -FI_EAGAIN : 0;
}

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	static struct fi_ops_fabric ops = {
		.size = sizeof(ops),
		.domain = open_domain,
		.passive_ep = open_pep,
		.eq_open = open_eq,
		.trywait = trywait,
	};

	(void)attr;
	(void)context;
	*out = new_object(sizeof(**out), FI_CLASS_FABRIC);
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
	(*out)->tx_attr->inject_size = 64;
	return 0;
}

static uint32_t version(void)
{
	return FI_VERSION(1, 18);
}

struct dofi_lib dofi_lib;

void fabric_msg_open(void)
{
	dofi_lib = (struct dofi_lib){ .getinfo = getinfo,
				      .freeinfo = freeinfo,
				      .dupinfo = dupinfo,
				      .fabric = open_fabric,
				      .version = version };
	receives.n = sends.n = n_over = refusals = 0;
	/* Requests of the last run that were not read. */
	for (; n_events; drop_event())
		if (events[0].event == FI_CONNREQ && events[0].u.entry.info)
			freeinfo(events[0].u.entry.info);
	held = false;
}
