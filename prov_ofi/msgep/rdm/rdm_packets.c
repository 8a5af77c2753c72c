/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of packets, and the receives that are posted from them.
 *
 * The ordinary packets of a domain have one size and serve both directions. There are enough for
 * the windows of all connections together, so no connection waits for a packet of another. How many
 * large packets are received is decided in rdm_large.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error_text.h"
#include "base/log.h"
#include "msgep/rdm/rdm_int.h"
#include "diag/diag.h"

/* Least number of packets allocated at a time, and of large ones. */
#define LOT 64
#define LARGE_LOT 4
/* The header of a large packet precedes a page boundary, where the payload begins. */
#define PAGE 4096

_Static_assert(sizeof(struct rdm_hdr) == RDM_HDR, "header of a packet");
_Static_assert(sizeof(struct msgep_frame) == 40, "header of a frame");

static int rdm_register(struct rdm_net *net, void *memory, size_t bytes, uint64_t access,
			struct fid_mr **mr)
{
	static _Atomic uint64_t next_key;
	int ret;

	ret = fi_mr_reg(net->inner.domain, memory, bytes, access, 0, atomic_fetch_add(&next_key, 1),
			0, mr, NULL);
	if (ret) {
		*mr = NULL;
		dofi_diag_memory(net->domain->fabric->fab, bytes, ret);
		return ret;
	}
	if (net->inner.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ret = fi_mr_bind(*mr, &net->ep->fid, 0);
		if (!ret)
			ret = fi_mr_enable(*mr);
		if (ret) {
			fi_close(&(*mr)->fid);
			*mr = NULL;
		}
	}
	return ret;
}

static void rdm_close_mr(struct fid_mr **mr)
{
	if (*mr)
		fi_close(&(*mr)->fid);
	*mr = NULL;
}

/* For one transfer: the peer that fetches it learns the key, and the next user of the packet may be
 * another one. Of exactly the message, at whose beginning it reads. */
int rdm_register_fetched(struct rdm_net *net, struct rdm_packet *packet, uint32_t bytes,
			 uint64_t access)
{
	int ret;

	if (packet->mr)
		return 0;
	ret = rdm_register(net, packet->hdr, bytes, access, &packet->mr);
	if (!ret)
		packet->desc = fi_mr_desc(packet->mr);
	return ret;
}

/* Adds `count` packets of that size to *pool, each at an offset of `lead` bytes. */
static int rdm_add_slab(struct rdm_net *net, uint32_t count, size_t bytes, size_t lead,
			struct rdm_packet **pool)
{
	struct rdm_slab *slab = calloc(1, sizeof(*slab));
	int ret = -FI_ENOMEM;

	if (!slab)
		return ret;
	slab->count = count;
	slab->bytes = count * bytes;
	slab->packets = calloc(count, sizeof(*slab->packets));
	slab->memory =
		mmap(NULL, slab->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slab->memory == MAP_FAILED)
		slab->memory = NULL;
	if (!slab->packets || !slab->memory)
		goto failed;
	if (net->register_packets) {
		ret = rdm_register(net, slab->memory, slab->bytes, FI_SEND | FI_RECV, &slab->mr);
		if (ret)
			goto failed;
	}
	for (uint32_t i = count; i--;) {
		struct rdm_packet *packet = &slab->packets[i];

		packet->hdr = (void *)((char *)slab->memory + i * bytes + lead);
		packet->desc = slab->mr ? fi_mr_desc(slab->mr) : NULL;
		packet->next = *pool;
		*pool = packet;
	}
	slab->next = net->slabs;
	net->slabs = slab;
	return 0;
failed:
	if (slab->memory)
		munmap(slab->memory, slab->bytes);
	free(slab->packets);
	free(slab);
	return ret;
}

/* Receives that were posted for closed connections stay posted. */
int rdm_packets_add(struct rdm_net *net)
{
	uint32_t rx = net->posted + net->held, need;
	int ret;

	if (rx < net->want_rx)
		rx = net->want_rx;
	need = rx + net->want_tx + net->lost;
	if (net->packets >= need)
		return 0;
	need -= net->packets;
	if (need < LOT)
		need = LOT;
	ret = rdm_add_slab(net, need, net->packet_size, 0, &net->pool);
	if (!ret)
		net->packets += need;
	return ret;
}

void rdm_packets_close_mrs(struct rdm_net *net)
{
	for (struct rdm_slab *slab = net->slabs; slab; slab = slab->next) {
		rdm_close_mr(&slab->mr);
		for (uint32_t i = 0; i < slab->count; i++)
			rdm_close_mr(&slab->packets[i].mr);
	}
}

void rdm_packets_free(struct rdm_net *net)
{
	struct rdm_slab *slab;

	while ((slab = net->slabs)) {
		net->slabs = slab->next;
		munmap(slab->memory, slab->bytes);
		free(slab->packets);
		free(slab);
	}
}

void rdm_packet_free(struct rdm_net *net, struct rdm_packet *packet)
{
	struct rdm_packet **pool = packet->large ? &net->large.pool : &net->pool;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	DOFI_ASSERT(packet->state != RDM_PACKET_FREE || !packet->conn, "packet %p is free already",
		    (void *)packet);
	if (packet->large && packet->state >= RDM_PACKET_RESERVED)
		net->large.sending--;
	if (packet->mr) {
		/* What is copied next needs none. */
		packet->desc = NULL;
		rdm_close_mr(&packet->mr);
	}
	packet->state = RDM_PACKET_FREE;
	packet->conn = NULL;
	packet->next = *pool;
	*pool = packet;
}

void rdm_post(struct rdm_net *net)
{
	while (net->posted + net->held < net->want_rx && net->posted < net->post_max &&
	       !net->post_full && net->pool) {
		struct rdm_packet *packet = rdm_pop(net);
		ssize_t ret = 0;

		if (net->packet_size > net->register_above)
			ret = rdm_register_fetched(net, packet, net->packet_size, FI_RECV);
		if (!ret)
			ret = fi_recv(net->ep, packet->hdr, net->packet_size, packet->desc,
				      FI_ADDR_UNSPEC, &packet->context);
		if (ret) {
			rdm_packet_free(net, packet);
			net->post_full = true;
			if (ret != -FI_EAGAIN)
				dofi_log(DOFI_LOG_ERROR, "posting a receive for packets: %s",
					 dofi_error_text((int)-ret));
			return;
		}
		packet->state = RDM_PACKET_POSTED;
		net->posted++;
	}
}

void rdm_packet_return(struct rdm_net *net, struct rdm_packet *packet)
{
	bool large = packet->large;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	rdm_packet_free(net, packet);
	if (large)
		rdm_large_post(net);
	else
		rdm_post(net);
}

void rdm_packet_release(struct rdm_conn *conn, struct rdm_packet *packet)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (packet->large) {
		conn->large.held--;
		conn->net->large.held--;
	} else {
		conn->net->held--;
	}
}

struct rdm_packet *rdm_large_pop(struct rdm_net *net)
{
	struct rdm_large *b = &net->large;
	size_t bytes = b->size - RDM_PACKET_HDR + PAGE;
	struct rdm_packet *packet;

	if (!b->pool && b->packets < 2 * b->limit) {
		if (rdm_add_slab(net, LARGE_LOT, bytes, PAGE - RDM_PACKET_HDR, &b->pool))
			return NULL;
		for (packet = b->pool; packet; packet = packet->next)
			packet->large = true;
		b->packets += LARGE_LOT;
	}
	packet = b->pool;
	if (packet)
		b->pool = packet->next;
	return packet;
}

bool rdm_large_post_one(struct rdm_net *net)
{
	struct rdm_large *b = &net->large;
	struct rdm_packet *packet;
	ssize_t ret;

	if (b->posted + b->held >= b->limit || b->post_full)
		return false;
	packet = rdm_large_pop(net);
	if (!packet)
		return false;
	ret = b->size > net->register_above ? rdm_register_fetched(net, packet, b->size, FI_RECV)
					    : 0;
	if (!ret)
		ret = fi_trecv(net->ep, packet->hdr, b->size, packet->desc, FI_ADDR_UNSPEC,
			       RDM_LARGE_TAG, 0, &packet->context);
	if (ret) {
		rdm_packet_free(net, packet);
		b->post_full = true;
		if (ret != -FI_EAGAIN)
			dofi_log(DOFI_LOG_ERROR, "posting a receive for large packets: %s",
				 dofi_error_text((int)-ret));
		return false;
	}
	packet->state = RDM_PACKET_POSTED;
	b->posted++;
	return true;
}

void rdm_large_post(struct rdm_net *net)
{
	while (net->large.posted < net->large.promised && rdm_large_post_one(net))
		;
}
