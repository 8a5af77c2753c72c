/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_getinfo, fi_fabric and fi_domain for endpoints of our own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fabric/fab_info.h"
#include "msgep/cm/inbox.h"

#define QUEUE 1024

static int fabric_set_names(struct fi_info *info, const char *name)
{
	info->fabric_attr->name = strdup(name);
	info->fabric_attr->prov_name = strdup(name);
	info->domain_attr->name = strdup(name);
	return info->fabric_attr->name && info->fabric_attr->prov_name && info->domain_attr->name
		       ? 0
		       : -FI_ENOMEM;
}

static void fabric_set_queue(size_t *size, size_t *iov)
{
	*size = QUEUE;
	*iov = MSGEP_IOV_MAX;
}

/* The fi_info of connected endpoints at the fabric's address. */
static int fabric_make_info(const struct dofi_fab *fab, struct fi_info **out)
{
	struct fi_info *info = dofi_own_info_copy(NULL, &fab->addr, NULL);

	if (!info)
		return -FI_ENOMEM;
	if (fabric_set_names(info, fab->desc->name)) {
		dofi_own_info_free(info);
		return -FI_ENOMEM;
	}
	info->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
		     FI_REMOTE_WRITE;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = SIZE_MAX;
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->mr_mode = FI_MR_VIRT_ADDR;
	info->domain_attr->mr_key_size = 4;
	info->domain_attr->cq_data_size = 8;
	fabric_set_queue(&info->tx_attr->size, &info->tx_attr->iov_limit);
	fabric_set_queue(&info->rx_attr->size, &info->rx_attr->iov_limit);
	info->tx_attr->rma_iov_limit = 1;
	*out = info;
	return 0;
}

int msgep_getinfo(struct dofi_fab *fab, struct fi_info **info)
{
	const struct msgep_transport *transport = fab->desc->transport;
	struct fi_info *inner = NULL;
	int ret = transport->find_inner ? transport->find_inner(fab, &inner) : 0;

	if (inner)
		dofi_lib.freeinfo(inner);
	return ret ? ret : fabric_make_info(fab, info);
}

static int fabric_close(struct fid *fid)
{
	free(dofi_container(fid, struct msgep_fabric, fid.fid));
	return 0;
}

/* True for every object, or for none. */
static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int ret = 0;

	(void)fabric;
	for (int i = 0; i < count && !ret; i++) {
		if (fids[i]->fclass == FI_CLASS_CQ)
			ret = msgep_cq_trywait(dofi_container(fids[i], struct msgep_cq, fid.fid));
		else if (fids[i]->fclass == FI_CLASS_EQ)
			ret = msgep_eq_trywait(dofi_container(fids[i], struct msgep_eq, fid.fid));
		else
			ret = -FI_EINVAL;
	}
	return ret;
}

static int fabric_domain_close(struct fid *fid)
{
	struct msgep_domain *domain = dofi_container(fid, struct msgep_domain, fid.fid);

	if (atomic_load(&domain->eps))
		return -FI_EBUSY;
	if (domain->fabric->domain == domain)
		domain->fabric->domain = NULL;
	msgep_inbox_close(domain);
	if (domain->fabric->transport->domain_close)
		domain->fabric->transport->domain_close(domain);
	dofi_key_map_free(&domain->mrs);
	pthread_rwlock_destroy(&domain->mr_lock);
	free(domain);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_domain_close,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.cq_open = msgep_cq_open,
	.endpoint = msgep_ep_open,
	.srx_ctx = msgep_srx_open,
};

/* Ports distinguish the active ends of two processes, which share one address. */
static void fabric_choose_port(struct msgep_domain *domain)
{
	uint16_t port = 0;

	if (getrandom(&port, sizeof(port), GRND_NONBLOCK) != sizeof(port))
		port = (uint16_t)(getpid() * 257);
	atomic_store(&domain->next_port, port);
}

static void fabric_prepare(const struct msgep_transport *transport)
{
	if (transport && transport->prepare)
		transport->prepare();
}

static int fabric_open_domain(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **out,
			      void *context)
{
	struct msgep_domain *domain = calloc(1, sizeof(*domain));
	int ret = 0;

	(void)info;
	if (!domain)
		return -FI_ENOMEM;
	msgep_fid_init(&domain->fid.fid, FI_CLASS_DOMAIN, context, &domain_fid_ops);
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &msgep_mr_ops;
	domain->fabric = dofi_container(fid, struct msgep_fabric, fid);
	dofi_rwlock_init(&domain->mr_lock);
	dofi_key_map_init(&domain->mrs);
	dofi_lock_init(&domain->transport_lock);
	dofi_lock_init(&domain->wait_lock);
	dofi_lock_init(&domain->serve_lock);
	dofi_list_init(&domain->cqs);
	domain->served = &domain->cqs;
	dofi_list_init(&domain->ep_list);
	fabric_choose_port(domain);
	fabric_prepare(domain->fabric->transport);
	fabric_prepare(domain->fabric->local_transport);
	if (domain->fabric->transport->cm_send)
		ret = msgep_inbox_open(domain);
	if (!ret && domain->fabric->transport->domain_open)
		ret = domain->fabric->transport->domain_open(domain);
	if (ret) {
		msgep_inbox_close(domain);
		pthread_rwlock_destroy(&domain->mr_lock);
		free(domain);
		return ret;
	}
	domain->fabric->domain = domain;
	*out = &domain->fid;
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = fabric_open_domain,
	.passive_ep = msgep_pep_open,
	.eq_open = msgep_eq_open,
	.trywait = fabric_trywait,
};

int msgep_fabric(struct dofi_fab *fab, struct fid_fabric **out)
{
	struct msgep_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	msgep_fid_init(&fabric->fid.fid, FI_CLASS_FABRIC, fab, &fabric_fid_ops);
	fabric->fid.ops = &fabric_ops;
	fabric->fab = fab;
	fabric->transport = fab->desc->transport;
	fabric->local_transport = fab->desc->local_transport;
	*out = &fabric->fid;
	return 0;
}
