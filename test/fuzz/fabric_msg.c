/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements fake connected endpoints of libfabric. Receives wait until the target delivers data
 * to them. Sent data is discarded, and sends complete at the next read of the completion queue.
 * Operations outstanding when an endpoint is closed fail. Under AddressSanitizer the part of a
 * receive buffer after a message is poisoned, but not the head of a packet, which the library
 * clears before it posts the buffer again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_msg.h"
#include "fake.h"

#ifndef __has_feature
#define __has_feature(what_) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at_, len_) ((void)(at_), (void)(len_))
#define ASAN_UNPOISON_MEMORY_REGION(at_, len_) ((void)(at_), (void)(len_))
#endif

#define EVENTS 64
#define PARAM_MOST 64
/* sizeof(struct pair_head) */
#define HEAD 16

static struct fake_queue receives;
static unsigned int n_events;
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

/* ---------------------------------------------------------------- by the target */

bool fabric_msg_closed(void)
{
	return fake_closed();
}

bool fabric_msg_deliver(const void *data, size_t len)
{
	int i = fake_oldest(&receives, shared);
	struct fake_posted p;
	size_t end;

	if (i < 0)
		return false;
	p = fake_take(&receives, (unsigned int)i);
	MUST(len <= p.iov[0].iov_len);
	memcpy(p.iov[0].iov_base, data, len);
	end = len < HEAD ? HEAD : len;
	ASAN_POISON_MEMORY_REGION((char *)p.iov[0].iov_base + end, p.iov[0].iov_len - end);
	fake_finish(&p, FI_RECV, len, 0);
	return true;
}

bool fabric_msg_arrive(const struct fid_ep *ep, size_t len, int err)
{
	int i = fake_oldest(&receives, ep);
	size_t done = 0;
	struct fake_posted p;

	if (i < 0)
		return false;
	p = fake_take(&receives, (unsigned int)i);
	for (size_t part = 0; part < p.count && !err; part++) {
		size_t n = p.iov[part].iov_len < len - done ? p.iov[part].iov_len : len - done;

		memset(p.iov[part].iov_base, 'b', n);
		done += n;
	}
	fake_finish(&p, FI_RECV, done, err);
	return true;
}

bool fabric_msg_arrive_with(const struct fid_ep *ep, size_t room, const void *more, size_t len)
{
	int i = fake_oldest(&receives, ep);
	size_t done = 0;
	struct fake_posted p;

	if (i < 0)
		return false;
	p = fake_take(&receives, (unsigned int)i);
	if (p.count && p.iov[p.count - 1].iov_len == room) {
		p.count--;
		len = len < room ? len : room;
		memcpy(p.iov[p.count].iov_base, more, len);
	} else {
		len = 0;
	}
	for (size_t part = 0; part < p.count; part++) {
		memset(p.iov[part].iov_base, 'b', p.iov[part].iov_len);
		done += p.iov[part].iov_len;
	}
	fake_finish(&p, FI_RECV, done + len, 0);
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
	fake_held = hold;
}

void fabric_msg_refuse(unsigned int n)
{
	fake_refusals = n;
}

void fabric_msg_fail_send(void)
{
	fake_fail_send(FI_ENOTCONN);
}

void fake_closing(struct fid *fid)
{
	int i;

	while (fid == shared && (i = fake_oldest(&receives, fid)) >= 0)
		fake_take(&receives, (unsigned int)i);
	fake_cancel(&receives, fid, FI_RECV);
	fake_cancel(&fake_sends, fid, FI_SEND);
	for (unsigned int e = 0; e < n_events; e++)
		if (events[e].u.entry.fid == fid && events[e].event != FI_CONNREQ)
			events[e].len = 0;
}

/* ---------------------------------------------------------------- endpoints */

static ssize_t ep_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
		       void *context)
{
	struct iovec iov = { buf, len };

	(void)desc;
	(void)from;
	ASAN_UNPOISON_MEMORY_REGION(buf, len);
	return fake_post(&receives, ep, context, &iov, 1);
}

static ssize_t ep_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)flags;
	return fake_post(&receives, ep, msg->context, msg->msg_iov, msg->iov_count);
}

static ssize_t ep_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)flags;
	return fake_refused()
		       ? -FI_EAGAIN
		       : fake_post(&fake_sends, ep, msg->context, msg->msg_iov, msg->iov_count);
}

static ssize_t ep_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)to;
	return fake_refused() ? -FI_EAGAIN : 0;
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
	(void)flags;
	fake_cancel(&receives, ep, FI_RECV);
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
	.size = sizeof(msg_ops), .recv = ep_recv, .recvmsg = ep_recvmsg, .send = fake_send,
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
	*out = fake_object(sizeof(**out), FI_CLASS_EP);
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
	*out = fake_object(sizeof(**out), FI_CLASS_SRX_CTX);
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
	*out = fake_object(sizeof(**out), FI_CLASS_PEP);
	(*out)->cm = &cm_ops;
	return 0;
}

/* ---------------------------------------------------------------- event queue */

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
	*out = fake_object(sizeof(**out), FI_CLASS_EQ);
	(*out)->ops = &ops;
	return 0;
}

/* ---------------------------------------------------------------- domain, fabric, library */

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	static struct fi_ops_domain ops = {
		.size = sizeof(ops),
		.cq_open = fake_open_cq,
		.endpoint = open_ep,
		.srx_ctx = open_srx,
	};

	(void)fabric;
	(void)info;
	(void)context;
	*out = fake_object(sizeof(**out), FI_CLASS_DOMAIN);
	(*out)->ops = &ops;
	return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	(void)fids;
	(void)count;
	return fake_has_completions() || n_events ? -FI_EAGAIN : 0;
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
	*out = fake_object(sizeof(**out), FI_CLASS_FABRIC);
	(*out)->ops = &ops;
	return 0;
}

static void adapt(struct fi_info *info)
{
	info->tx_attr->inject_size = 64;
}

void fabric_msg_open(void)
{
	fake_open(FI_VERSION(1, 18), adapt, open_fabric);
	fake_waits = true;
	receives.n = 0;
	/* Requests of the last run that were not read. */
	for (; n_events; drop_event())
		if (events[0].event == FI_CONNREQ && events[0].u.entry.info)
			dofi_lib.freeinfo(events[0].u.entry.info);
}
