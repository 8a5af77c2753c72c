/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of fabrics on RDMA devices with libfabric's own endpoints. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fabrics/verbs/announce.h"
#include "fabrics/verbs/device.h"
#include "fabrics/verbs/device_events.h"
#include "fabrics/verbs/host_probe.h"
#include "fabrics/verbs/msg_prefix.h"
#include "fabrics/verbs/siw_post.h"
#include "fabrics/verbs/split_rdma.h"
#include "fabrics/verbs/srq_stand_in.h"
#include "object/ep.h"
#include "object/srq.h"

/* Errors by which devices report that the peer has no such service. */
#define IB_CM_REJ_INVALID_SERVICE_ID 8
/* What librdmacm's calls return if they fail, with the sign that libfabric changes. */
#define CM_CALL_FAILED 1

static int verbs_open_fabric(struct dofi_fab *fab)
{
	return dofi_lib.fabric(fab->info->fabric_attr, &fab->fabric, fab);
}

/* QUIRK libfabric verbs: the event queue is an epoll set that contains a descriptor of the kernel's
 * connection manager, to which the provider moves all listeners and connections of the adapter.
 * They outlive the process in a child that keeps it open. Its number is only found in /proc. */
static int verbs_cm_fd(int eq_fd)
{
	char path[48], target[64], line[128];
	int fd, found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", eq_fd);
	f = fopen(path, "re");
	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		ssize_t len;

		if (sscanf(line, "tfd: %d", &fd) != 1)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strstr(target, "/rdma_cm"))
			found = fd;
	}
	if (f)
		fclose(f);
	return found;
}

static void verbs_examine_domain(struct dofi_fab *fab)
{
	if (dofi_device_is_siw(fab))
		dofi_siw_post_settle(fab);
	if (dofi_srq_stand_in_fits(fab))
		return;
	fab->srq_depth = 0;
	dofi_log(DOFI_LOG_WARN, "no shared receive queues: libfabric crashes when a receive of one "
				"fails, and this one is unlike those where that can be prevented");
}

static int verbs_open_srq(struct dofi_srq *srq, struct fi_rx_attr *attr)
{
	struct dofi_fab *fab = &srq->obj.ia->fab;
	int ret = -ENOMEM;

	if (fab->has_msg_prefix && dofi_msg_prefixes_alloc(fab, &srq->prefixes, srq->depth, false))
		goto free_prefixes;
	ret = fi_srx_context(fab->domain, attr, &srq->srx, srq);
	if (ret)
		goto free_prefixes;
	ret = dofi_srq_stand_in(fab, srq->srx, &srq->post_to);
	if (!ret)
		return 0;
	fi_close(&srq->srx->fid);
free_prefixes:
	dofi_msg_prefixes_free(&srq->prefixes);
	return ret;
}

static void verbs_close_srq(struct dofi_srq *srq)
{
	fi_close(&srq->srx->fid);
	dofi_srq_stand_in_free(srq->srx, srq->post_to);
	dofi_msg_prefixes_free(&srq->prefixes);
}

/* QUIRK libfabric verbs: the driver of soft-iWARP completes a request when it has sent it, and a
 * read when the answer has arrived, so requests overtake reads. libfabric removes the first record
 * of its list for each completion (`vrb_poll_cq`), whose order is lost then: requests do not
 * complete, or it crashes (seen with 1.17). Requests wait for the reads before them. */
static int verbs_prepare_ep(struct dofi_conn *conn, struct dofi_ep *ep, struct fi_info *info)
{
	struct dofi_fab *fab = &ep->obj.ia->fab;
	int ret = dofi_device_reserve(conn, ep, info);

	ep->reads_bar = dofi_device_is_siw(fab);
	if (ret || !fab->has_msg_prefix)
		return ret;
	ret = dofi_msg_prefixes_alloc(fab, &ep->rq.prefixes, ep->rq.limit ? ep->rq.mask + 1 : 0,
				      true);
	return ret ? ret
		   : dofi_msg_prefixes_alloc(fab, &ep->sq.prefixes,
					     ep->sq.limit ? ep->sq.mask + 1 : 0, true);
}

/* A device that closes a queue pair loses the SRQ buffer that it was filling. If the queue pair is
 * set to the error state first, the buffer is returned as flushed shortly after.
 *
 * soft-RoCE destroys a queue pair when nothing refers to it any more (__rxe_cleanup in the kernel's
 * rxe_pool.c). If it had unanswered requests, this took up to 2.5 s (seen with Linux 6.1); in the
 * error state it drops them. */
static bool verbs_detach_ep(struct dofi_conn *conn, struct dofi_ep *ep)
{
	bool is_iwarp = ep->obj.ia->fab.has_msg_prefix;

	if (!conn->up || (!ep->srq && is_iwarp))
		return false;
	fi_shutdown(conn->fid, 0);
	return ep->srq;
}

/* Connection messages carry it. */
static int verbs_set_qual(struct fid *fid, uint64_t qual)
{
	(void)fid;
	(void)qual;
	return 0;
}

static bool verbs_eq_error(struct fi_eq_err_entry *err)
{
	if (err->err == ENODEV)
		return true;
	/* The provider uses one error for all failures; prov_errno is the kernel's. */
	if (err->err != ETIMEDOUT || err->prov_errno <= 0)
		return false;
	/* QUIRK libfabric verbs: the library of the connection manager reports failures of its
	 * calls as -1, which the provider passes on. They fail if the peer has ended the connection
	 * before this side processes the acceptance (ucma_process_conn_resp in cma.c). */
	err->err = err->prov_errno == CM_CALL_FAILED ? ECONNABORTED : err->prov_errno;
	return false;
}

static bool verbs_no_listener(int code, size_t len)
{
	if (code == IB_CM_REJ_INVALID_SERVICE_ID)
		return true;
	/* A rejection by this library carries a message. */
	return !len && (!code || code == ECONNREFUSED);
}

/* QUIRK libfabric verbs: opens endpoints and listeners at ports that the kernel's connection
 * manager chooses among its own. Soft-iWARP binds a socket to the port, which fails if another
 * socket has it, also a closed one in TIME_WAIT: another endpoint or listener is tried. */
static bool verbs_port_taken(int err)
{
	return err == EADDRINUSE;
}

/* Values of ibv_wc_status; the numbers are the ABI of all devices. */
/* clang-format off */
enum {
	WC_LOC_LEN_ERR = 1, WC_LOC_QP_OP_ERR, WC_LOC_EEC_OP_ERR, WC_LOC_PROT_ERR, WC_WR_FLUSH_ERR,
	WC_MW_BIND_ERR, WC_BAD_RESP_ERR, WC_LOC_ACCESS_ERR, WC_REM_INV_REQ_ERR, WC_REM_ACCESS_ERR,
	WC_REM_OP_ERR, WC_RETRY_EXC_ERR, WC_RNR_RETRY_EXC_ERR,
};
/* clang-format on */

static uint8_t verbs_wc_status(int code)
{
	switch (code) {
	case WC_LOC_LEN_ERR:
		return DAT_DTO_ERR_LOCAL_LENGTH;
	case WC_LOC_QP_OP_ERR:
	case WC_LOC_EEC_OP_ERR:
		return DAT_DTO_ERR_LOCAL_EP;
	case WC_LOC_PROT_ERR:
	case WC_LOC_ACCESS_ERR:
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	case WC_WR_FLUSH_ERR:
		return DAT_DTO_ERR_FLUSHED;
	case WC_BAD_RESP_ERR:
		return DAT_DTO_ERR_BAD_RESPONSE;
	case WC_REM_ACCESS_ERR:
		return DAT_DTO_ERR_REMOTE_ACCESS;
	case WC_REM_INV_REQ_ERR:
	case WC_REM_OP_ERR:
		return DAT_DTO_ERR_REMOTE_RESPONDER;
	case WC_RNR_RETRY_EXC_ERR:
		return DAT_DTO_ERR_RECEIVER_NOT_READY;
	default:
		return DAT_DTO_ERR_TRANSPORT;
	}
}

/* Soft-RoCE reports a failed queue both if the message was too long and if the receive's memory was
 * deregistered; it is the former if the memory is still registered. */
static uint8_t verbs_receive_status(struct dofi_evd *evd, const struct dofi_dto *dto)
{
	void *const *desc = dto->iov_count > DOFI_IOV_INLINE ? dto->long_desc : dto->desc;

	for (size_t i = 0; i < dto->iov_count; i++)
		if (!dofi_region_has_desc(&evd->obj.ia->lmrs, desc[i]))
			return DAT_DTO_ERR_LOCAL_PROTECTION;
	return DAT_DTO_ERR_LOCAL_LENGTH;
}

static uint8_t verbs_cq_status(struct dofi_evd *evd, const struct dofi_dto *dto,
			       const struct fi_cq_err_entry *err)
{
	uint8_t status = err->prov_errno ? verbs_wc_status(err->prov_errno)
					 : dofi_fab_cq_status(err);

	return status == DAT_DTO_ERR_LOCAL_EP && dofi_dto_receives(dto)
		       ? verbs_receive_status(evd, dto)
		       : status;
}

static void verbs_adapt_atomic(const struct dofi_fab *fab, const struct dofi_dto *dto,
			       struct fi_msg_atomic *msg, struct fi_ioc *compare)
{
	if (!dofi_device_takes_values(fab))
		return;
	msg->addr = dto->operand[dto->kind == DOFI_CMP_SWAP];
	compare->addr = (void *)(uintptr_t)dto->operand[0];
}

const struct dofi_fabric_ops dofi_verbs_ops = {
	.open_fabric = verbs_open_fabric,
	.examine_domain = verbs_examine_domain,
	.cm_fd = verbs_cm_fd,
	.open_cq = dofi_device_open_cq,
	.open_srq = verbs_open_srq,
	.close_srq = verbs_close_srq,
	.register_mr = dofi_device_register_mr,
	.close_mr = dofi_device_close_mr,
	.find_mr = dofi_device_find_mr,
	.prepare_ep = verbs_prepare_ep,
	.release_ep = dofi_device_release,
	.detach_ep = verbs_detach_ep,
	.set_qual = verbs_set_qual,
	.probe_host = dofi_host_probe,
	.eq_error = verbs_eq_error,
	.no_listener = verbs_no_listener,
	.port_taken = verbs_port_taken,
	.watch = dofi_device_events_watch,
	.is_up = dofi_device_events_is_up,
	.cq_status = verbs_cq_status,
	.send_prefixed = dofi_msg_prefix_send,
	.write_and_send = dofi_msg_prefix_write,
	.recv_prefixed = dofi_msg_prefix_recv,
	.read_prefix = dofi_msg_prefix_take,
	.announce = dofi_announce,
	.adapt_atomic = verbs_adapt_atomic,
	.split_rdma = dofi_split_rdma,
};
