/* SPDX-License-Identifier: BSD-2-Clause */
/* The libfabric connections between adapters: creation, attachment of DAT connections, closing. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/be_bytes.h"
#include "base/grow.h"
#include "fabric/fab_info.h"
#include "fabric/netif.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_message.h"

/* Limit of the table of pairs. */
#define PAIRS_MAX (1u << 16)

void pair_close_ep(struct pair *pair)
{
	if (!pair->ep)
		return;
	pair_sock_release(&pair->fd);
	fi_close(&pair->ep->fid);
	pair->ep = NULL;
}

void pair_free(struct pair *pair)
{
	struct pair_net *net = pair->net;

	pair_close_ep(pair);
	net->connecting -= pair->state == PAIR_CONNECTING;
	net->pair_table[pair->index] = NULL;
	dofi_lock(&net->leaf);
	dofi_list_remove(&pair->dirty);
	dofi_unlock(&net->leaf);
	dofi_list_remove(&pair->link);
	free(pair->points);
	pair_drop_unsent(pair);
	free(pair);
}

/* A free entry of the table; negative: there is none. */
static int pair_place(struct pair_net *net)
{
	for (uint32_t i = 0; i < net->n_pairs; i++)
		if (!net->pair_table[i])
			return (int)i;
	/* Memory for what ends a connection is allocated here. */
	if (!DOFI_TABLE_RESERVE(net->pair_table, net->pairs_capacity, net->n_pairs + 1, 8,
				PAIRS_MAX) ||
	    msgep_inbox_spare(net->domain) || pair_buf_new(net))
		return -FI_ENOMEM;
	net->pair_table[net->n_pairs] = NULL;
	return (int)net->n_pairs++;
}

static struct pair *pair_new(struct pair_net *net, const uint8_t *name, uint8_t dscp)
{
	int place = pair_place(net);
	struct pair *pair = place < 0 ? NULL : calloc(1, sizeof(*pair));

	if (!pair)
		return NULL;
	if (getrandom(&pair->key, sizeof(pair->key), 0) != sizeof(pair->key) || !pair->key) {
		free(pair);
		return NULL;
	}
	pair->net = net;
	pair->fd = -1;
	pair->index = (uint32_t)place;
	pair->serial = ++net->serial ? net->serial : ++net->serial;
	memcpy(pair->name, name, PAIR_NAME);
	pair->dscp = dscp;
	dofi_lock_init(&pair->lock);
	pair->waiting_end = &pair->waiting;
	dofi_list_init(&pair->conns);
	dofi_list_init(&pair->owing);
	dofi_list_init(&pair->starved);
	dofi_list_init(&pair->dirty);
	dofi_list_append(&net->pairs, &pair->link);
	net->pair_table[place] = pair;
	net->connecting++;
	return pair;
}

int pair_make_ep(struct pair_net *net, struct fi_info *info, bool bulk, struct fid_ep **out)
{
	const struct msgep_inner *in = bulk ? net->bulk_inner : &net->inner;
	struct fid_ep *ep;
	int ret;

	DOFI_ASSERT_LOCKED(&net->lock);
	if (bulk)
		info->ep_attr->rx_ctx_cnt = 1;
	ret = fi_endpoint(in->domain, info, &ep, NULL);
	if (ret)
		return ret;
	ret = fi_ep_bind(ep, &net->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(ep, &in->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!ret && !bulk)
		ret = fi_ep_bind(ep, &net->srx->fid, 0);
	if (!ret)
		ret = fi_enable(ep);
	/* One buffer more, so that a message that arrives slowly delays no other pair. */
	if (!ret && !bulk)
		ret = pair_post_new(net);
	if (ret)
		fi_close(&ep->fid);
	else
		*out = ep;
	return ret;
}

static void pair_param(const struct pair_net *net, uint32_t index, uint64_t key,
		       const uint8_t *token, uint8_t *param)
{
	uint8_t *p = param;

	memset(param, 0, PAIR_PARAM);
	p = dofi_put_be(p, PAIR_MAGIC, 4);
	p = dofi_put_be(p, PAIR_VERSION, 4);
	p = dofi_put_be(p, index, 4);
	p = dofi_put_be(p, 0, 4);
	p = dofi_put_be(p, key, 8);
	memcpy(p, net->name, PAIR_NAME);
	if (token)
		memcpy(p + PAIR_NAME, token, PAIR_NAME);
}

bool pair_parse_param(struct pair *pair, const uint8_t *param, size_t len)
{
	if (len < PAIR_PARAM || dofi_get_be(param, 4) != PAIR_MAGIC ||
	    dofi_get_be(param + 4, 4) != PAIR_VERSION)
		return false;
	pair->head.index = htole32((uint32_t)dofi_get_be(param + 8, 4));
	pair->head.key = htole64(dofi_get_be(param + 16, 8));
	return true;
}

/* The fi_info for a connection to that address: from one of the adapter's addresses if the user
 * named it, otherwise over any interface that leads there. */
static struct fi_info *pair_info_to(struct pair_net *net, const union dofi_addr *to, uint8_t dscp)
{
	const union dofi_addr *source = dofi_netif_source(net->domain->fabric->fab, to);

	struct fi_info *info = dofi_info_copy(net->inner.info, source, to);

	/* libfabric up to 2.6 does not pass it to its sockets: see pair_sock.c. */
	if (info && dscp)
		info->tx_attr->tclass = fi_tc_dscp_set(dscp);
	return info;
}

int pair_connect(struct pair_net *net, const struct pair *pair, const union dofi_addr *to,
		 uint8_t dscp, const uint8_t *token, struct fid_ep **ep)
{
	struct fi_info *info = pair_info_to(net, to, dscp);
	uint8_t param[PAIR_PARAM];
	int ret;

	DOFI_ASSERT_LOCKED(&net->lock);
	if (!info)
		return -FI_ENOMEM;
	ret = pair_make_ep(net, info, !pair, ep);
	dofi_lib.freeinfo(info);
	pair_param(net, pair ? pair->index : 0, pair ? pair->key : 0, token, param);
	return ret ? ret : fi_connect(*ep, to, param, sizeof(param));
}

int pair_get(struct pair_net *net, const struct msgep_ep *ep, const uint8_t *params,
	     struct pair **out)
{
	const uint8_t *name = params + 16, *token = params + 32;
	union dofi_addr to = ep->peer;
	struct dofi_list *pos;
	struct pair *pair;
	int ret;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each(pos, &net->pairs)
	{
		pair = dofi_container(pos, struct pair, link);
		if (pair->state != PAIR_BROKEN && pair_matches(pair, name, ep->dscp)) {
			*out = pair;
			return 0;
		}
	}
	pair = pair_new(net, name, ep->dscp);
	if (!pair)
		return -FI_ENOMEM;
	dofi_addr_set_port(&to.sa, (uint16_t)dofi_get_be(params + 2, 2));
	pair->port = dofi_addr_port(&to.sa);
	ret = pair_connect(net, pair, &to, ep->dscp, token, &pair->ep);
	if (ret)
		pair_free(pair);
	else
		*out = pair;
	return ret;
}

int pair_accept(struct pair_net *net, struct fi_info *info, const uint8_t *param, uint8_t dscp)
{
	struct pair *pair = pair_new(net, param + 24, dscp);
	uint8_t answer[PAIR_PARAM];
	int ret;

	if (!pair)
		return -FI_ENOMEM;
	if (info->dest_addr && info->dest_addrlen <= sizeof(pair->peer))
		memcpy(&pair->peer, info->dest_addr, info->dest_addrlen);
	dofi_addr_unmap(&pair->peer);
	pair_parse_param(pair, param, PAIR_PARAM);
	pair_param(net, pair->index, pair->key, NULL, answer);
	ret = pair_make_ep(net, info, false, &pair->ep);
	if (!ret)
		ret = fi_accept(pair->ep, answer, sizeof(answer));
	if (ret)
		pair_free(pair);
	return ret;
}

bool pair_is_up(struct pair_net *net, const uint8_t *name, uint8_t dscp)
{
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each(pos, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		if (pair->state == PAIR_UP && pair_matches(pair, name, dscp))
			return true;
	}
	return false;
}

void pair_attach(struct pair_conn *conn, struct pair *pair)
{
	struct msgep_ep *ep = conn->ep;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	dofi_lock(&ep->lock);
	conn->pair = pair;
	dofi_unlock(&ep->lock);
	if (conn->active) {
		if (!pair_send_control(pair, PAIR_ATTACH, conn->peer_mark, conn->mark, 0, NULL, 0))
			pair_break(pair, FI_ENOMEM);
	} else {
		dofi_list_append(&pair->conns, &conn->link);
		pair_revoke(pair->net, NULL, pair);
	}
	pair_touch(conn);
	if (ep->rx_cq)
		msgep_cq_wake(ep->rx_cq);
}

void pair_free_all(struct pair_net *net)
{
	while (!dofi_list_empty(&net->pairs))
		pair_free(dofi_container(net->pairs.next, struct pair, link));
	free(net->pair_table);
}
