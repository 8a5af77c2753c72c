/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements a fake fabric. Receives wait until the target delivers data to them. Sends complete
 * at the next read of the completion queue. AddressSanitizer detects deliveries beyond a buffer.
 */
#include <errno.h>
#include <string.h>

#include <rdma/fi_tagged.h>

#include "fabric.h"
#include "fake.h"

#define NAME "a fabric of nothing"

static struct fake_queue receives[2];
static bool registers;

/* ---------------------------------------------------------------- by hand */

bool fabric_closed(void)
{
	return fake_closed();
}

size_t fabric_next_recv_len(bool tagged)
{
	return receives[tagged].n ? receives[tagged].at[0].iov[0].iov_len : 0;
}

void fabric_deliver(bool tagged, const void *data, size_t len)
{
	struct fake_posted p = fake_take(&receives[tagged], 0);

	memcpy(p.iov[0].iov_base, data, len);
	fake_finish(&p, FI_RECV, len, 0);
}

void fabric_fail_receive(bool tagged)
{
	struct fake_posted p;

	if (!receives[tagged].n)
		return;
	p = fake_take(&receives[tagged], 0);
	fake_finish(&p, FI_RECV, 0, FI_ETRUNC);
}

void fabric_fail_send(void)
{
	fake_fail_send(FI_EIO);
}

void fabric_refuse(unsigned int n)
{
	fake_refusals = n;
}

void fake_closing(struct fid *fid)
{
	(void)fid;
}

/* ---------------------------------------------------------------- endpoint */

static ssize_t post_receive(bool tagged, void *buf, size_t len, void *context)
{
	struct iovec iov = { buf, len };

	return fake_refused() ? -FI_EAGAIN : fake_post(&receives[tagged], NULL, context, &iov, 1);
}

static ssize_t ep_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
		       void *context)
{
	(void)ep;
	(void)desc;
	(void)from;
	return post_receive(false, buf, len, context);
}

static ssize_t ep_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t tag, uint64_t ignore, void *context)
{
	(void)ep;
	(void)desc;
	(void)from;
	(void)tag;
	(void)ignore;
	return post_receive(true, buf, len, context);
}

static ssize_t ep_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			uint64_t tag, void *context)
{
	(void)tag;
	return fake_send(ep, buf, len, desc, to, context);
}

static int ep_name(fid_t fid, void *name, size_t *len)
{
	(void)fid;
	memcpy(name, NAME, sizeof(NAME));
	*len = sizeof(NAME);
	return 0;
}

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		   void *context)
{
	static struct fi_ops_msg msg = {
		.size = sizeof(msg),
		.recv = ep_recv,
		.send = fake_send,
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
	*out = fake_object(sizeof(**out), FI_CLASS_EP);
	(*out)->msg = &msg;
	(*out)->tagged = &tagged;
	(*out)->cm = &cm;
	return 0;
}

/* ---------------------------------------------------------------- addresses, memory */

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
	*out = fake_object(sizeof(**out), FI_CLASS_AV);
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
	*out = fake_object(sizeof(**out), FI_CLASS_MR);
	return 0;
}

/* ---------------------------------------------------------------- domain, fabric, library */

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	static struct fi_ops_domain ops = {
		.size = sizeof(ops),
		.av_open = open_av,
		.cq_open = fake_open_cq,
		.endpoint = open_ep,
	};
	static struct fi_ops_mr mr = { .size = sizeof(mr), .reg = reg };

	(void)fabric;
	(void)info;
	(void)context;
	*out = fake_object(sizeof(**out), FI_CLASS_DOMAIN);
	(*out)->ops = &ops;
	(*out)->mr = &mr;
	return 0;
}

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	static struct fi_ops_fabric ops = { .size = sizeof(ops), .domain = open_domain };

	(void)attr;
	(void)context;
	*out = fake_object(sizeof(**out), FI_CLASS_FABRIC);
	(*out)->ops = &ops;
	return 0;
}

static void adapt(struct fi_info *info)
{
	info->ep_attr->max_msg_size = 1 << 20;
	info->tx_attr->size = info->rx_attr->size = 256;
	info->domain_attr->mr_mode = registers ? FI_MR_LOCAL : 0;
}

size_t dofi_lib_rxm_limit(size_t buffer)
{
	return buffer;
}

void fabric_open(bool local)
{
	fake_open(FI_VERSION(1, 17), adapt, open_fabric);
	receives[0].n = receives[1].n = 0;
	registers = local;
}
