/* SPDX-License-Identifier: BSD-2-Clause */
/* The libfabric connections between adapters: created on request, admitted by token, broken
 * once. */
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
#include "msgep/pair/pair.h"

/* Limit of the table of pairs. */
#define PAIRS_MAX (1u << 16)

static void pair_close_ep(struct pair *pair)
{
	if (!pair->ep)
		return;
	pair_sock_release(&pair->fd);
	fi_close(&pair->ep->fid);
	pair->ep = NULL;
}

static void pair_free(struct pair *pair)
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

/* Parses the peer's description of itself. False: it is invalid. */
static bool pair_parse_param(struct pair *pair, const uint8_t *param, size_t len)
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

static bool pair_matches(const struct pair *pair, const uint8_t *name, uint8_t dscp)
{
	return pair->dscp == dscp && !memcmp(pair->name, name, PAIR_NAME);
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

/* ---------------------------------------------------------------- admission */

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

int pair_grant(struct pair_net *net, const uint8_t *name, uint8_t dscp, uint8_t *token,
	       struct pair_conn *conn)
{
	struct pair_token *t = calloc(1, sizeof(*t));

	DOFI_ASSERT_LOCKED(&net->lock);
	if (!t)
		return -FI_ENOMEM;
	if (getrandom(t->token, PAIR_NAME, 0) != PAIR_NAME) {
		free(t);
		return -FI_EIO;
	}
	memcpy(t->name, name, PAIR_NAME);
	t->dscp = dscp;
	t->conn = conn;
	net->n_granted += !!conn;
	t->expires = dofi_now() + DOFI_MS(PAIR_TOKEN_MS);
	memcpy(token, t->token, PAIR_NAME);
	dofi_list_append(&net->tokens, &t->link);
	return 0;
}

static void pair_token_free(struct pair_net *net, struct pair_token *t)
{
	if (t->conn) {
		net->n_granted--;
		t->conn->sent_token = false;
	}
	dofi_list_remove(&t->link);
	free(t);
}

void pair_expire(struct pair_net *net)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each_safe(pos, tmp, &net->tokens)
	{
		struct pair_token *t = dofi_container(pos, struct pair_token, link);

		if (now >= t->expires)
			pair_token_free(net, t);
	}
}

/* A token can be used once. */
static bool pair_use_token(struct pair_net *net, const uint8_t *name, const uint8_t *token,
			   struct pair_conn **conn, uint8_t *dscp)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos, *tmp;
	bool good = false;

	dofi_list_each_safe(pos, tmp, &net->tokens)
	{
		struct pair_token *t = dofi_container(pos, struct pair_token, link);
		bool same = !memcmp(t->token, token, PAIR_NAME) &&
			    !memcmp(t->name, name, PAIR_NAME);

		good |= same;
		if (same) {
			*conn = t->conn;
			*dscp = t->dscp;
		}
		if (same || now >= t->expires)
			pair_token_free(net, t);
	}
	return good;
}

void pair_revoke(struct pair_net *net, const struct pair_conn *conn, const struct pair *pair)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each_safe(pos, tmp, &net->tokens)
	{
		struct pair_token *t = dofi_container(pos, struct pair_token, link);

		if (t->conn == conn && (!pair || pair_matches(pair, t->name, t->dscp)))
			pair_token_free(net, t);
	}
}

static int pair_accept(struct pair_net *net, struct fi_info *info, const uint8_t *param,
		       uint8_t dscp)
{
	struct pair *pair = pair_new(net, param + 24, dscp);
	uint8_t answer[PAIR_PARAM];
	int ret;

	if (!pair)
		return -FI_ENOMEM;
	if (info->dest_addr && info->dest_addrlen <= sizeof(pair->peer))
		memcpy(&pair->peer, info->dest_addr, info->dest_addrlen);
	pair_parse_param(pair, param, PAIR_PARAM);
	pair_param(net, pair->index, pair->key, NULL, answer);
	ret = pair_make_ep(net, info, false, &pair->ep);
	if (!ret)
		ret = fi_accept(pair->ep, answer, sizeof(answer));
	if (ret)
		pair_free(pair);
	return ret;
}

static void pair_request(struct pair_net *net, struct fid *pep, struct fi_info *info,
			 const uint8_t *param, size_t len)
{
	bool ours = len >= PAIR_PARAM && dofi_get_be(param, 4) == PAIR_MAGIC &&
		    dofi_get_be(param + 4, 4) == PAIR_VERSION;
	struct pair_conn *conn = NULL;
	uint8_t dscp = 0;
	char text[DOFI_ADDR_TEXT];
	int ret = -FI_EACCES;

	if (!ours || !pair_use_token(net, param + 24, param + 40, &conn, &dscp)) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected a libfabric connection from %s: expected a token that this "
			 "adapter granted, got %s",
			 info->dest_addr ? dofi_peer_text(info->dest_addr, text)
					 : "unknown address",
			 ours ? "another token" : "data of another program or release");
	} else if (conn) {
		if (!conn->bulk && !conn->broken)
			ret = pair_bulk_accept(conn, info);
	} else {
		ret = pair_accept(net, info, param, dscp);
		if (ret)
			dofi_log(DOFI_LOG_WARN, "cannot accept a libfabric connection from %s: %s",
				 info->dest_addr ? dofi_peer_text(info->dest_addr, text)
						 : "unknown address",
				 dofi_error_text(-ret));
	}
	/* Frees the request, also if an endpoint was created for it. */
	if (ret)
		fi_reject(dofi_container(pep, struct fid_pep, fid), info->handle, NULL, 0);
	dofi_lib.freeinfo(info);
}

/* ---------------------------------------------------------------- events */

void pair_attach(struct pair_conn *conn, struct pair *pair)
{
	struct msgep_ep *ep = conn->ep;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	dofi_lock(&ep->lock);
	conn->pair = pair;
	dofi_unlock(&ep->lock);
	if (conn->active) {
		if (!pair_send_control(pair, PAIR_ATTACH,
				       pair_mark(conn->peer_index, conn->peer_generation),
				       pair_mark(conn->index, conn->generation), 0, NULL, 0))
			pair_break(pair, FI_ENOMEM);
	} else {
		dofi_list_append(&pair->conns, &conn->link);
		pair_revoke(pair->net, NULL, pair);
	}
	pair_touch(conn);
	if (ep->rx_cq)
		msgep_cq_wake(ep->rx_cq);
}

static void pair_up(struct pair *pair, const uint8_t *param, size_t len, bool active)
{
	struct dofi_list *pos;

	if (active && !pair_parse_param(pair, param, len)) {
		pair_break(pair, FI_EIO);
		return;
	}
	if (pair->state != PAIR_CONNECTING)
		return;
	dofi_lock(&pair->lock);
	pair->state = PAIR_UP;
	pair->fd = pair_sock_claim(pair->ep, pair->dscp);
	dofi_unlock(&pair->lock);
	pair->net->connecting--;
	dofi_list_each(pos, &pair->conns)
	{
		struct pair_conn *conn = dofi_container(pos, struct pair_conn, link);

		pair_attach(conn, pair);
		pair_cm_attached(conn);
	}
}

/* The peer's listener cannot be reached, although the service point could. Returns the error for
 * the connections: ECONNREFUSED would mean that there is no service point. */
static int pair_unreached(const struct pair *pair, int err)
{
	char text[DOFI_ADDR_TEXT];

	dofi_log(DOFI_LOG_WARN,
		 "cannot connect to port %u, at which the adapter of the service point %s listens "
		 "for data: %s; a firewall must let it through, too (DAPL_OFI_PORT_RANGE at the "
		 "peer)",
		 pair->port, dofi_peer_text(&pair->peer, text), dofi_error_text(err));
	return err == FI_ECONNREFUSED ? FI_EHOSTUNREACH : err;
}

void pair_break(struct pair *pair, int err)
{
	char text[DOFI_ADDR_TEXT];
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&pair->net->lock);
	if (pair->state == PAIR_BROKEN)
		return;
	if (pair->state == PAIR_CONNECTING && pair->port)
		err = pair_unreached(pair, err);
	else
		dofi_log(DOFI_LOG_INFO, "the connection to the adapter at %s has ended: %s",
			 dofi_peer_text(&pair->peer, text), dofi_error_text(err));
	pair->net->connecting -= pair->state == PAIR_CONNECTING;
	pair->net->any_broken = true;
	dofi_lock(&pair->lock);
	pair->state = PAIR_BROKEN;
	dofi_unlock(&pair->lock);
	/* The peer learns of it by this. The endpoint is closed when the last connection has left,
	 * by the next thread that reads the event queue: that may be late. */
	fi_shutdown(pair->ep, 0);
	dofi_list_each(pos, &pair->conns)
	{
		struct pair_conn *conn = dofi_container(pos, struct pair_conn, link);

		atomic_store(&conn->broken, err);
		msgep_ep_broken(conn->ep, err);
		pair_touch(conn);
	}
	pair_cm_lost(pair);
}

void pair_check_hosts(struct msgep_domain *domain)
{
	struct pair_net *net = pair_net_of(domain);
	struct dofi_list *pos;

	dofi_lock(&net->lock);
	dofi_list_each(pos, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		if (pair->state == PAIR_UP && pair_sock_is_dead(pair->fd))
			pair_break(pair, FI_ETIMEDOUT);
	}
	dofi_unlock(&net->lock);
}

static struct pair *pair_of(struct pair_net *net, struct fid *fid)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		if (pair->ep && &pair->ep->fid == fid)
			return pair;
	}
	return NULL;
}

/* False: there was none. */
static bool pair_eq_error(struct pair_net *net)
{
	struct fi_eq_err_entry err;
	struct pair *pair;

	memset(&err, 0, sizeof(err));
	if (fi_eq_readerr(net->eq, &err, 0) <= 0)
		return false;
	pair = err.fid ? pair_of(net, err.fid) : NULL;
	if (pair)
		pair_break(pair, err.err > 0 ? err.err : FI_EIO);
	else if (err.fid)
		pair_bulk_event(net, err.fid, FI_SHUTDOWN, err.err > 0 ? err.err : FI_EIO);
	return true;
}

/* Frees pairs that have ended and serve no connection, after their last messages have completed. */
static void pair_reap(struct pair_net *net)
{
	struct dofi_list *pos, *tmp;
	bool left = false;

	dofi_list_each_safe(pos, tmp, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		if (pair->state != PAIR_BROKEN)
			continue;
		left = true;
		if (!dofi_list_empty(&pair->conns))
			continue;
		pair_close_ep(pair);
		if (!pair->in_flight)
			pair_free(pair);
	}
	net->any_broken = left;
}

void pair_read_eq(struct pair_net *net)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + 256];
	} u;
	struct pair *pair;
	uint32_t event;
	ssize_t n;

	DOFI_ASSERT_LOCKED(&net->lock);
	net->eq_read_at = dofi_now();
	for (;;) {
		/* QUIRK libfabric tcp: if a connection message is sent or received in part, takes
		 * errno for the reason, whatever set it. Without a reason the attempt fails. After
		 * EAGAIN, versions before 1.18 send the answer again from its beginning; the peer
		 * takes the rest for data, and crashes (SIGSEGV, seen in 1.17), or waits in vain.
		 * Later ones send it once, in fi_accept, whose failure ends the attempt. 2.1 reads
		 * it in fi_cq_read, too, and a call that reads other sockets before may leave
		 * EAGAIN: if each part of the answer is read so, more is awaited in vain, and the
		 * attempts time out (seen by faults). 2.6 fails at once if it receives a part. */
		errno = 0;
		n = fi_eq_read(net->eq, &event, &u, sizeof(u), 0);
		if (n == -FI_EAVAIL && pair_eq_error(net))
			continue;
		if (n < (ssize_t)sizeof(u.entry))
			break;
		if (event == FI_CONNREQ) {
			pair_request(net, u.entry.fid, u.entry.info, u.entry.data,
				     (size_t)n - sizeof(u.entry));
			continue;
		}
		pair = pair_of(net, u.entry.fid);
		if (pair && event == FI_CONNECTED)
			pair_up(pair, u.entry.data, (size_t)n - sizeof(u.entry), !pair->head.key);
		else if (pair && event == FI_SHUTDOWN)
			pair_break(pair, FI_ENOTCONN);
		else
			pair_bulk_event(net, u.entry.fid, event, FI_ENOTCONN);
	}
	if (net->any_broken)
		pair_reap(net);
	if (net->unposted)
		pair_post_again(net);
}

void pair_free_all(struct pair_net *net)
{
	while (!dofi_list_empty(&net->pairs))
		pair_free(dofi_container(net->pairs.next, struct pair, link));
	free(net->pair_table);
	while (!dofi_list_empty(&net->tokens)) {
		struct pair_token *t = dofi_container(net->tokens.next, struct pair_token, link);

		t->conn = NULL;
		pair_token_free(net, t);
	}
}
