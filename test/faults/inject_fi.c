/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defines functions of libfabric that fail on demand.
 *
 * The provider loads libfabric with dlopen; the program's dlopen gives it the program instead,
 * whose functions are below. An object that libfabric returns gets copies of its tables of
 * operations, in which those that can fail are replaced. The objects that libfabric opens for
 * itself keep their own.
 */
#include "inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#define EXPORT FAULT_PLAIN __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static atomic_int objects;

int fault_fi_objects(void)
{
	return atomic_load(&objects);
}

/* ---- tables ---- */

/* A copy of a table, and the table. */
struct table {
	struct table *next;
	const void *original;
	void (*fill)(void *copy);
	max_align_t copy[];
};

static struct table *tables;
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;

static void *replaced(const void *original, size_t size, void (*fill)(void *copy))
{
	struct table *t;
	size_t used;

	if (!original)
		return NULL;
	pthread_mutex_lock(&tables_lock);
	for (t = tables; t; t = t->next)
		if (t->original == original && t->fill == fill)
			break;
	if (!t && (t = calloc(1, sizeof(*t) + size))) {
		/* Another version of libfabric has more or fewer operations. */
		memcpy(&used, original, sizeof(used));
		if (used > size)
			used = size;
		memcpy(t->copy, original, used);
		memcpy(t->copy, &used, sizeof(used));
		t->original = original;
		t->fill = fill;
		fill(t->copy);
		t->next = tables;
		tables = t;
	}
	pthread_mutex_unlock(&tables_lock);
	if (!t)
		abort();
	return t->copy;
}

/* The original of a copy. */
#define ORIGINAL(type_, copy_) \
	((const struct type_ *)((const struct table *)(const void *)(( \
					const char *)(copy_)-offsetof(struct table, copy))) \
		 ->original)

#define REPLACE(type_, slot_, fill_) \
	((slot_) = (struct type_ *)replaced(slot_, sizeof(struct type_), fill_))

#define FAIL_FI(first_) \
	do { \
		int how_ = fault_now(FN_##first_, CALLER); \
		if (how_ > 0) \
			return -how_; \
	} while (0)

/* ---- all objects ---- */

static int my_close(struct fid *fid)
{
	int ret = ORIGINAL(fi_ops, fid->ops)->close(fid);

	if (!ret)
		atomic_fetch_sub(&objects, 1);
	return ret;
}

static int my_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	FAIL_FI(fi_bind_ENOMEM);
	return ORIGINAL(fi_ops, fid->ops)->bind(fid, other, flags);
}

static int my_control(struct fid *fid, int command, void *arg)
{
	if (command == FI_ENABLE)
		FAIL_FI(fi_enable_ENOMEM);
	if (command == FI_GETWAIT)
		FAIL_FI(fi_getwait_EINVAL);
	return ORIGINAL(fi_ops, fid->ops)->control(fid, command, arg);
}

static void fill_fid(void *copy)
{
	struct fi_ops *ops = copy;

	ops->close = my_close;
	ops->bind = my_bind;
	ops->control = my_control;
}

static void wrap_fid(struct fid *fid)
{
	REPLACE(fi_ops, fid->ops, fill_fid);
	atomic_fetch_add(&objects, 1);
}

/* ---- endpoints ---- */

static int my_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	struct fid_ep *ep = (struct fid_ep *)fid;

	FAIL_FI(fi_getopt_EINVAL);
	return ORIGINAL(fi_ops_ep, ep->ops)->getopt(fid, level, name, value, len);
}

static int my_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct fid_ep *ep = (struct fid_ep *)fid;

	FAIL_FI(fi_setopt_EINVAL);
	return ORIGINAL(fi_ops_ep, ep->ops)->setopt(fid, level, name, value, len);
}

static void fill_ep(void *copy)
{
	struct fi_ops_ep *ops = copy;

	ops->getopt = my_getopt;
	ops->setopt = my_setopt;
}

/* Endpoints and passive endpoints have their tables in different places. */
static const struct fi_ops_cm *cm_of(fid_t fid)
{
	const struct fi_ops_cm *copy = fid->fclass == FI_CLASS_PEP ? ((struct fid_pep *)fid)->cm
								   : ((struct fid_ep *)fid)->cm;

	return ORIGINAL(fi_ops_cm, copy);
}

static int my_getname(fid_t fid, void *addr, size_t *len)
{
	FAIL_FI(fi_getname_EINVAL);
	return cm_of(fid)->getname(fid, addr, len);
}

static int my_listen(struct fid_pep *pep)
{
	FAIL_FI(fi_listen_EADDRINUSE);
	return cm_of(&pep->fid)->listen(pep);
}

static int my_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	FAIL_FI(fi_connect_ENOMEM);
	return cm_of(&ep->fid)->connect(ep, addr, param, len);
}

static int my_accept(struct fid_ep *ep, const void *param, size_t len)
{
	FAIL_FI(fi_accept_ENOMEM);
	return cm_of(&ep->fid)->accept(ep, param, len);
}

static int my_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	FAIL_FI(fi_reject_ENOMEM);
	return cm_of(&pep->fid)->reject(pep, handle, param, len);
}

static int my_shutdown(struct fid_ep *ep, uint64_t flags)
{
	FAIL_FI(fi_shutdown_ENOTCONN);
	return cm_of(&ep->fid)->shutdown(ep, flags);
}

static void fill_cm(void *copy)
{
	struct fi_ops_cm *ops = copy;

	ops->getname = my_getname;
	ops->listen = my_listen;
	ops->connect = my_connect;
	ops->accept = my_accept;
	ops->reject = my_reject;
	ops->shutdown = my_shutdown;
}

/* An operation with its parameters, which all begin with the endpoint. */
#define POST(table_, member_, op_, first_, params_, args_) \
	static ssize_t my_##member_##_##op_ params_ \
	{ \
		FAIL_FI(first_); \
		return ORIGINAL(table_, ep->member_)->op_ args_; \
	}

/* clang-format off */
POST(fi_ops_msg, msg, recv, fi_recv_EAGAIN,
     (struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, void *context),
     (ep, buf, len, desc, from, context))
POST(fi_ops_msg, msg, recvv, fi_recv_EAGAIN,
     (struct fid_ep *ep, const struct iovec *iov, void **desc, size_t n, fi_addr_t from,
      void *context),
     (ep, iov, desc, n, from, context))
POST(fi_ops_msg, msg, recvmsg, fi_recv_EAGAIN,
     (struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags), (ep, msg, flags))
POST(fi_ops_msg, msg, send, fi_send_EAGAIN,
     (struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to, void *context),
     (ep, buf, len, desc, to, context))
POST(fi_ops_msg, msg, sendv, fi_send_EAGAIN,
     (struct fid_ep *ep, const struct iovec *iov, void **desc, size_t n, fi_addr_t to,
      void *context),
     (ep, iov, desc, n, to, context))
POST(fi_ops_msg, msg, sendmsg, fi_send_EAGAIN,
     (struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags), (ep, msg, flags))
POST(fi_ops_msg, msg, inject, fi_send_EAGAIN,
     (struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to), (ep, buf, len, to))
POST(fi_ops_msg, msg, senddata, fi_send_EAGAIN,
     (struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t to,
      void *context),
     (ep, buf, len, desc, data, to, context))
POST(fi_ops_msg, msg, injectdata, fi_send_EAGAIN,
     (struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t to),
     (ep, buf, len, data, to))
POST(fi_ops_rma, rma, read, fi_read_EAGAIN,
     (struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, uint64_t addr,
      uint64_t key, void *context),
     (ep, buf, len, desc, from, addr, key, context))
POST(fi_ops_rma, rma, readmsg, fi_read_EAGAIN,
     (struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags), (ep, msg, flags))
POST(fi_ops_rma, rma, write, fi_write_EAGAIN,
     (struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to, uint64_t addr,
      uint64_t key, void *context),
     (ep, buf, len, desc, to, addr, key, context))
POST(fi_ops_rma, rma, writemsg, fi_write_EAGAIN,
     (struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags), (ep, msg, flags))
/* clang-format on */

static void fill_msg(void *copy)
{
	struct fi_ops_msg *ops = copy;

	ops->recv = my_msg_recv;
	ops->recvv = my_msg_recvv;
	ops->recvmsg = my_msg_recvmsg;
	ops->send = my_msg_send;
	ops->sendv = my_msg_sendv;
	ops->sendmsg = my_msg_sendmsg;
	ops->inject = my_msg_inject;
	ops->senddata = my_msg_senddata;
	ops->injectdata = my_msg_injectdata;
}

static void fill_rma(void *copy)
{
	struct fi_ops_rma *ops = copy;

	ops->read = my_rma_read;
	ops->readmsg = my_rma_readmsg;
	ops->write = my_rma_write;
	ops->writemsg = my_rma_writemsg;
}

static void wrap_ep(struct fid_ep *ep)
{
	wrap_fid(&ep->fid);
	REPLACE(fi_ops_ep, ep->ops, fill_ep);
	REPLACE(fi_ops_cm, ep->cm, fill_cm);
	REPLACE(fi_ops_msg, ep->msg, fill_msg);
	REPLACE(fi_ops_rma, ep->rma, fill_rma);
}

static void wrap_pep(struct fid_pep *pep)
{
	wrap_fid(&pep->fid);
	REPLACE(fi_ops_ep, pep->ops, fill_ep);
	REPLACE(fi_ops_cm, pep->cm, fill_cm);
}

/* ---- queues ---- */

#define QUEUES 64

/* Queues whose next entry has been turned into an error entry; belongs to tables_lock. */
static struct held {
	const void *queue;
	struct fi_cq_data_entry completion;
	fid_t fid;
} held[QUEUES];

static struct held *held_find(const void *queue)
{
	for (int i = 0; i < QUEUES; i++)
		if (held[i].queue == queue)
			return &held[i];
	return NULL;
}

static bool held_take(const void *queue, struct held *out)
{
	struct held *h;

	pthread_mutex_lock(&tables_lock);
	h = held_find(queue);
	if (h) {
		*out = *h;
		h->queue = NULL;
	}
	pthread_mutex_unlock(&tables_lock);
	return h != NULL;
}

static void held_put(const struct held *entry)
{
	struct held *h;

	pthread_mutex_lock(&tables_lock);
	h = held_find(NULL);
	if (!h)
		abort();
	*h = *entry;
	pthread_mutex_unlock(&tables_lock);
}

static bool held_has(const void *queue)
{
	bool has;

	pthread_mutex_lock(&tables_lock);
	has = held_find(queue) != NULL;
	pthread_mutex_unlock(&tables_lock);
	return has;
}

/* Only reads that find an entry count, except that EIO may also be the result of others. */
static ssize_t my_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	const struct fi_ops_cq *original = ORIGINAL(fi_ops_cq, cq->ops);
	bool entry = fault_wanted(FN_fi_cq_read_ERROR_ENTRY);
	struct held h = { .queue = cq };
	ssize_t n;
	int how;

	if (held_has(cq))
		return -FI_EAVAIL;
	n = original->read(cq, buf, entry && count ? 1 : count);
	if (n <= 0 && !fault_wanted(FN_fi_cq_read_EIO))
		return n;
	how = fault_now(FN_fi_cq_read_EIO, CALLER);
	/* An entry that has been read would be lost. */
	if (how > 0 && n <= 0)
		return -how;
	if (how != FAULT_ERROR_ENTRY || n != 1)
		return n;
	/* All formats that the provider opens queues with begin alike. */
	memcpy(&h.completion, buf, sizeof(struct fi_cq_msg_entry));
	held_put(&h);
	return -FI_EAVAIL;
}

static ssize_t my_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct held h;

	if (!held_take(cq, &h))
		return ORIGINAL(fi_ops_cq, cq->ops)->readerr(cq, entry, flags);
	entry->op_context = h.completion.op_context;
	entry->flags = h.completion.flags;
	entry->len = 0;
	entry->err = FI_EIO;
	entry->prov_errno = 0;
	return 1;
}

static void fill_cq(void *copy)
{
	struct fi_ops_cq *ops = copy;

	ops->read = my_cq_read;
	ops->readerr = my_cq_readerr;
}

static ssize_t my_eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	const struct fi_ops_eq *original = ORIGINAL(fi_ops_eq, eq->ops);
	const struct fi_eq_cm_entry *entry = buf;
	struct held h = { .queue = eq };
	ssize_t n;
	int how;

	/* libfabric's readerr reads an error that has really happened by this call. */
	if (!event)
		return original->read(eq, event, buf, len, flags);
	if (held_has(eq))
		return -FI_EAVAIL;
	n = original->read(eq, event, buf, len, flags);
	/* Usual after a poll; libfabric may take it for the reason of its next failure. */
	errno = EAGAIN;
	if (n <= 0 && !fault_wanted(FN_fi_eq_read_EIO))
		return n;
	/* Other events have no error entry. */
	if (fault_wanted(FN_fi_eq_read_ERROR_ENTRY) && *event != FI_CONNECTED)
		return n;
	how = fault_now(FN_fi_eq_read_EIO, CALLER);
	if (how > 0 && n <= 0)
		return -how;
	if (how != FAULT_ERROR_ENTRY || n <= 0)
		return n;
	h.fid = entry->fid;
	held_put(&h);
	return -FI_EAVAIL;
}

static ssize_t my_eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *entry, uint64_t flags)
{
	struct held h;

	if (!held_take(eq, &h))
		return ORIGINAL(fi_ops_eq, eq->ops)->readerr(eq, entry, flags);
	entry->fid = h.fid;
	entry->context = h.fid->context;
	entry->err = FI_ECONNREFUSED;
	entry->prov_errno = 0;
	entry->err_data_size = 0;
	return sizeof(*entry);
}

static void fill_eq(void *copy)
{
	struct fi_ops_eq *ops = copy;

	ops->read = my_eq_read;
	ops->readerr = my_eq_readerr;
}

/* ---- domains and fabrics ---- */

#define OPEN(type_, table_, op_, first_, out_, wrap_, params_, args_) \
	static int my_##op_ params_ \
	{ \
		int ret; \
\
		FAIL_FI(first_); \
		ret = ORIGINAL(table_, type_->ops)->op_ args_; \
		if (!ret) { \
			wrap_; \
		} \
		return ret; \
	}

static int my_av_insert(struct fid_av *av, const void *addr, size_t n, fi_addr_t *out,
			uint64_t flags, void *context)
{
	FAIL_FI(fi_av_insert_ENOMEM);
	return ORIGINAL(fi_ops_av, av->ops)->insert(av, addr, n, out, flags, context);
}

static void fill_av(void *copy)
{
	((struct fi_ops_av *)copy)->insert = my_av_insert;
}

/* clang-format off */
OPEN(domain, fi_ops_domain, av_open, fi_av_open_ENOMEM, av,
     wrap_fid(&(*av)->fid); REPLACE(fi_ops_av, (*av)->ops, fill_av),
     (struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context),
     (domain, attr, av, context))
OPEN(domain, fi_ops_domain, cq_open, fi_cq_open_ENOMEM, cq,
     wrap_fid(&(*cq)->fid); REPLACE(fi_ops_cq, (*cq)->ops, fill_cq),
     (struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context),
     (domain, attr, cq, context))
OPEN(domain, fi_ops_domain, endpoint, fi_endpoint_ENOMEM, ep, wrap_ep(*ep),
     (struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context),
     (domain, info, ep, context))
OPEN(domain, fi_ops_domain, srx_ctx, fi_srx_context_ENOMEM, ep,
     wrap_fid(&(*ep)->fid); REPLACE(fi_ops_msg, (*ep)->msg, fill_msg),
     (struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep, void *context),
     (domain, attr, ep, context))
OPEN(fabric, fi_ops_fabric, passive_ep, fi_passive_ep_EADDRINUSE, pep, wrap_pep(*pep),
     (struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context),
     (fabric, info, pep, context))
OPEN(fabric, fi_ops_fabric, eq_open, fi_eq_open_ENOMEM, eq,
     wrap_fid(&(*eq)->fid); REPLACE(fi_ops_eq, (*eq)->ops, fill_eq),
     (struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context),
     (fabric, attr, eq, context))
/* clang-format on */

#define MR_ORIGINAL(fid_) ORIGINAL(fi_ops_mr, ((struct fid_domain *)(fid_))->mr)

static int my_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		     uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	int ret;

	FAIL_FI(fi_mr_reg_ENOMEM);
	ret = MR_ORIGINAL(fid)->reg(fid, buf, len, access, offset, key, flags, mr, context);
	if (!ret)
		wrap_fid(&(*mr)->fid);
	return ret;
}

static int my_mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
			 struct fid_mr **mr)
{
	int ret;

	FAIL_FI(fi_mr_reg_ENOMEM);
	ret = MR_ORIGINAL(fid)->regattr(fid, attr, flags, mr);
	if (!ret)
		wrap_fid(&(*mr)->fid);
	return ret;
}

static void fill_mr(void *copy)
{
	struct fi_ops_mr *ops = copy;

	ops->reg = my_mr_reg;
	ops->regattr = my_mr_regattr;
}

static void fill_domain(void *copy)
{
	struct fi_ops_domain *ops = copy;

	ops->av_open = my_av_open;
	ops->cq_open = my_cq_open;
	ops->endpoint = my_endpoint;
	ops->srx_ctx = my_srx_ctx;
}

static void wrap_domain(struct fid_domain *domain)
{
	wrap_fid(&domain->fid);
	REPLACE(fi_ops_domain, domain->ops, fill_domain);
	REPLACE(fi_ops_mr, domain->mr, fill_mr);
}

static int my_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		     void *context)
{
	int ret;

	FAIL_FI(fi_domain_ENOMEM);
	ret = ORIGINAL(fi_ops_fabric, fabric->ops)->domain(fabric, info, domain, context);
	if (!ret)
		wrap_domain(*domain);
	return ret;
}

/*
 * fi_trywait takes the objects of the caller, and finds their originals by itself; fi_domain calls
 * domain2 where it exists.
 */
static void fill_fabric(void *copy)
{
	struct fi_ops_fabric *ops = copy;

	ops->domain = my_domain;
	ops->passive_ep = my_passive_ep;
	ops->eq_open = my_eq_open;
}

/* ---- what the provider takes from the library ---- */

static void *libfabric;

static void *find(const char *name)
{
	void *fn = libfabric ? dlsym(libfabric, name) : NULL;

	if (!fn)
		abort();
	return fn;
}

EXPORT void *dlopen(const char *name, int flags)
{
	static void *(*real)(const char *name, int flags);
	void *handle;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	handle = real(name, flags);
	if (!handle || !name || strcmp(name, "libfabric.so.1") || !fault_from_provider(CALLER))
		return handle;
	libfabric = handle;
	return real(NULL, RTLD_NOW);
}

EXPORT int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info)
{
	__typeof__(&fi_getinfo) real;

	*(void **)&real = find("fi_getinfo");
	if (fault_from_provider(CALLER))
		FAIL_FI(fi_getinfo_ENOMEM);
	return real(version, node, service, flags, hints, info);
}

EXPORT void fi_freeinfo(struct fi_info *info)
{
	__typeof__(&fi_freeinfo) real;

	*(void **)&real = find("fi_freeinfo");
	real(info);
}

EXPORT struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	__typeof__(&fi_dupinfo) real;

	*(void **)&real = find("fi_dupinfo");
	if (fault_from_provider(CALLER) && fault_now(FN_fi_dupinfo_ENOMEM, CALLER))
		return NULL;
	return real(info);
}

EXPORT int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	__typeof__(&fi_fabric) real;
	int ret;

	*(void **)&real = find("fi_fabric");
	if (!fault_from_provider(CALLER))
		return real(attr, fabric, context);
	FAIL_FI(fi_fabric_ENOMEM);
	ret = real(attr, fabric, context);
	if (ret)
		return ret;
	wrap_fid(&(*fabric)->fid);
	REPLACE(fi_ops_fabric, (*fabric)->ops, fill_fabric);
	return ret;
}

EXPORT uint32_t fi_version(void)
{
	__typeof__(&fi_version) real;

	*(void **)&real = find("fi_version");
	return real();
}
