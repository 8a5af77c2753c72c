/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives the messages of datagram endpoints.
 *
 * A send completes when the kernel has taken it, or has dropped it. The progress thread reads what
 * arrives while receives are posted. What arrives without one waits in the socket's buffer, and is
 * dropped by the kernel when that is full; posting a receive then reads it (ud->backlog).
 */
#include <errno.h>
#include <string.h>

#include "base/be_bytes.h"
#include "base/error_text.h"
#include "base/log.h"
#include "data/cq.h"
#include "data/dto_submit.h"
#include "data/ud_message.h"

/* Datagrams per round, so that other threads can acquire the locks. */
#define ROUND 64

/* ---------------------------------------------------------------- sending */

static void ud_send(struct dofi_ep *ep, struct dofi_dto *dto)
{
	int ret = dofi_dgram_send(&ep->ud->sock, &dto->to, dto->qpn, dofi_dto_iov(dto),
				  dto->iov_count, dto->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG);

	/* A datagram may be lost anywhere, and this host is no exception. */
	if (ret)
		dofi_log(DOFI_LOG_INFO, "datagram lost: %s", dofi_error_text(-ret));
	dto->status = DAT_DTO_SUCCESS;
	atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_release);
}

/* ---------------------------------------------------------------- receiving */

static void ud_put_gid(uint8_t *gid, const union dofi_addr *addr)
{
	memset(gid, 0, 16);
	if (addr->sa.sa_family == AF_INET6) {
		memcpy(gid, &addr->in6.sin6_addr, 16);
	} else {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &addr->in.sin_addr, 4);
	}
}

/* The header that InfiniBand puts before a message; GIDs are IPv6 addresses, or IPv4 addresses
 * mapped to them, as with RoCE. */
static void ud_make_grh(uint8_t *grh, const struct dofi_ep *ep, const struct dofi_dgram_msg *msg)
{
	memset(grh, 0, DOFI_GRH);
	grh[0] = 6 << 4;
	dofi_put_be(grh + 4, msg->len, 2);
	grh[6] = 0x1b; /* next header: InfiniBand's transport */
	grh[7] = 0xff;
	ud_put_gid(grh + 8, &msg->from);
	ud_put_gid(grh + 24, &ep->local);
}

/* Copies to position *at of the buffer's segments and advances it. There is enough room. */
static void ud_copy_out(struct dofi_dto *dto, size_t *at, const uint8_t *from, size_t n)
{
	const struct iovec *iov = dofi_dto_iov(dto);
	size_t skip = *at;

	*at += n;
	for (unsigned int i = 0; n && i < dto->iov_count; i++) {
		size_t room = iov[i].iov_len, part;

		if (skip >= room) {
			skip -= room;
			continue;
		}
		part = room - skip < n ? room - skip : n;
		memcpy((uint8_t *)iov[i].iov_base + skip, from, part);
		from += part;
		n -= part;
		skip = 0;
	}
}

/* A message that is too long fails its receive, and changes nothing else. */
static void ud_take(struct dofi_ep *ep, struct dofi_dto *dto, const struct dofi_dgram_msg *msg)
{
	uint8_t grh[DOFI_GRH];
	size_t at = 0;

	dto->kind = DOFI_RECV_UD;
	dto->solicited = msg->solicited;
	dofi_ud_set_source(dto, &msg->from, msg->qpn);
	dto->status = DAT_DTO_ERR_LOCAL_LENGTH;
	if (DOFI_GRH + msg->len <= dto->length) {
		ud_make_grh(grh, ep, msg);
		ud_copy_out(dto, &at, grh, sizeof(grh));
		ud_copy_out(dto, &at, msg->data, msg->len);
		dto->status = DAT_DTO_SUCCESS;
		dto->length = at;
	}
	atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_release);
}

/* The next receive that has not completed; NULL: none. Reports those before it. Caller holds
 * ep->lock and evd->lock. */
static struct dofi_dto *ud_next_receive(struct dofi_ep *ep, struct dofi_evd *evd)
{
	struct dofi_queue *q = &ep->rq;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	dofi_dto_report(ep, q, evd);
	/* Some stay in the queue while the EVD has no memory for their events. */
	for (uint32_t i = atomic_load(&q->head); i != tail; i++) {
		struct dofi_dto *dto = dofi_queue_at(q, i);

		if (atomic_load(&dto->state) != DOFI_DTO_DONE)
			return dto;
	}
	return NULL;
}

/* Caller holds ep->lock. */
static void ud_read(struct dofi_ep *ep)
{
	struct dofi_evd *evd = ep->recv_evd;
	struct dofi_ud *ud = ep->ud;
	struct dofi_dgram_msg msg;
	struct dofi_dto *dto;
	uint32_t before;
	int ret = 0, n = 0;

	dofi_lock(&evd->lock);
	before = evd->notified;
	while ((dto = ud_next_receive(ep, evd)) && n++ < ROUND) {
		ret = dofi_dgram_recv(&ud->sock, &msg);
		if (ret == -EAGAIN)
			break;
		if (!ret)
			ud_take(ep, dto, &msg);
	}
	ud->backlog = !dto;
	dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
	if (dto && ret != -EAGAIN)
		dofi_ud_rearm(ep);
}

void dofi_ud_receive(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	if (ep->ud)
		ud_read(ep);
	dofi_unlock(&ep->lock);
}

/* ---------------------------------------------------------------- queues */

void dofi_ud_submit(struct dofi_ep *ep, struct dofi_queue *q)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	if (q == &ep->rq) {
		q->sent = tail;
		if (ep->ud->backlog)
			ud_read(ep);
		return;
	}
	for (; q->sent != tail; q->sent++)
		ud_send(ep, dofi_queue_at(q, q->sent));
	dofi_dto_report_done(ep, q);
}

void dofi_ud_flush(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	dofi_dto_flush(ep);
	dofi_unlock(&ep->lock);
}
