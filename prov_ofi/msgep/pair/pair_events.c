/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes the events of the libfabric connections between adapters: requests, which need a token,
 * establishment, ends. */
#include <errno.h>
#include <string.h>

#include "base/be_bytes.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "fabric/fab_info.h"
#include "msgep/pair/pair_int.h"

/* Where the request is from. */
static const char *pair_request_text(const struct fi_info *info, char *text)
{
	union dofi_addr from;

	if (!info->dest_addr || info->dest_addrlen > sizeof(from))
		return "unknown address";
	memset(&from, 0, sizeof(from));
	memcpy(&from, info->dest_addr, info->dest_addrlen);
	dofi_addr_unmap(&from);
	return dofi_peer_text(&from, text);
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
			 pair_request_text(info, text),
			 ours ? "another token" : "data of another program or release");
	} else if (conn) {
		if (!conn->bulk && !conn->broken)
			ret = pair_bulk_accept(conn, info);
	} else {
		ret = pair_accept(net, info, param, dscp);
		if (ret)
			dofi_log(DOFI_LOG_WARN, "cannot accept a libfabric connection from %s: %s",
				 pair_request_text(info, text), dofi_error_text(-ret));
	}
	/* Frees the request, also if an endpoint was created for it. */
	if (ret)
		fi_reject(dofi_container(pep, struct fid_pep, fid), info->handle, NULL, 0);
	dofi_lib.freeinfo(info);
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
