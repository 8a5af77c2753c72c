/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands software atomic operations over to the peer's library. */
#include <errno.h>
#include <sys/socket.h>

#include "base/error_text.h"
#include "base/forkfd.h"
#include "base/log.h"
#include "data/amo.h"
#include "msgep/cm/cm.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"
#include "object/progress_wakeup.h"

/* Position of the operation, from the beginning of the connection. */
static uint32_t amo_position(const struct dofi_ep *ep)
{
	return ep->sq.sent + atomic_load_explicit(&ep->sq.rewind_base, memory_order_relaxed);
}

/* A socket that connects to the peer's library; negative: it cannot. */
static int amo_dial(const struct dofi_ep *ep)
{
	union dofi_addr from = ep->local, to = ep->remote;
	int fd =
		dofi_forkfd(socket(to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	int err;

	if (fd < 0)
		return -errno;
	msgep_cm_tune(fd);
	dofi_addr_set_port(&from.sa, 0);
	dofi_addr_set_port(&to.sa, ep->amo.port);
	if (!bind(fd, &from.sa, (socklen_t)dofi_addr_len(&from.sa)) &&
	    (!connect(fd, &to.sa, (socklen_t)dofi_addr_len(&to.sa)) || errno == EINPROGRESS))
		return fd;
	err = errno;
	dofi_forkfd_close(fd);
	return -err;
}

static bool amo_open_sock(struct dofi_ep *ep)
{
	int fd = amo_dial(ep);

	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->amo.out = fd < 0 ? NULL : dofi_amo_sock_new(ep, fd, false);
	if (!ep->amo.out) {
		dofi_log(DOFI_LOG_WARN, "no socket for atomic operations: %s",
			 dofi_error_text(fd < 0 ? -fd : ENOMEM));
		return false;
	}
	return true;
}

void dofi_amo_send(struct dofi_ep *ep, bool hello)
{
	const struct dofi_dto *dto = ep->amo.dto;
	bool swap = dto->kind == DOFI_CMP_SWAP;
	const struct dofi_amo_request r = { .op = swap ? DOFI_AMO_SWAP : DOFI_AMO_ADD,
					    .key = (uint32_t)dto->remote_key,
					    .addr = dto->remote_addr,
					    .operand = { dto->operand[0],
							 swap ? dto->operand[1] : 0 } };
	uint8_t buf[DOFI_AMO_HELLO + DOFI_AMO_REQUEST], *p = buf;

	if (hello)
		p = dofi_amo_put_hello(p, ep->active, ep->amo.token);
	/* What ends the socket is an event of it. */
	if (!dofi_amo_sock_send(ep->amo.out, buf, dofi_amo_put_request(p, &r)))
		shutdown(ep->amo.out->fd, SHUT_RDWR);
}

void dofi_amo_start(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	atomic_store(&ep->amo.state, DOFI_AMO_SENT);
	if (ep->amo.out) {
		dofi_amo_send(ep, false);
	} else if (!amo_open_sock(ep)) {
		atomic_store(&ep->amo.state, DOFI_AMO_FAILED);
		dofi_deferred_add(ep, DOFI_DEFERRED_SUBMIT);
		dofi_progress_wakeup(ep->obj.ia);
	}
}

ssize_t dofi_amo_post(struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;
	bool flush = fab->writes_complete_early && ep->amo.next != amo_position(ep);
	ssize_t ret;

	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->amo.dto = dto;
	/* Before the call: the completion may be read at once. */
	atomic_store(&ep->amo.state, flush ? DOFI_AMO_FLUSHING : DOFI_AMO_READY);
	ret = flush ? fi_read(fid, dto->iov[0].iov_base, fab->flush_bytes, dto->desc[0],
			      FI_ADDR_UNSPEC, dto->remote_addr, dto->remote_key, &dto->ctx)
		    : 0;
	if (ret) {
		ep->amo.dto = NULL;
		atomic_store(&ep->amo.state, DOFI_AMO_IDLE);
		return ret;
	}
	ep->amo.next = amo_position(ep) + 1;
	ep->amo.depth = ep->sq.depth;
	ep->sq.depth = 0;
	dofi_ep_set_quotas(ep);
	if (!flush)
		dofi_amo_start(ep);
	return 0;
}

void dofi_amo_flushed(struct dofi_dto *dto)
{
	struct dofi_ep *ep = dto->ep;
	uint8_t expected = DOFI_AMO_FLUSHING;

	/* False: the connection has ended. */
	if (atomic_compare_exchange_strong(&ep->amo.state, &expected, DOFI_AMO_READY))
		dofi_deferred_add(ep, DOFI_DEFERRED_SUBMIT);
}
