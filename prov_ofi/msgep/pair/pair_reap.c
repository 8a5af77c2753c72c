/* SPDX-License-Identifier: BSD-2-Clause */
/* Closes half-open connections to the adapter's libfabric listeners.
 *
 * libfabric keeps a connection that it has accepted until its request is complete, without a limit,
 * and does not report it. The reaper finds their sockets among the descriptors of the process: they
 * have the address of a listener and belong to no endpoint. One that exists for longer than
 * DAPL_OFI_HALF_OPEN_MS is shut down, whereupon libfabric closes it.
 *
 * QUIRK libfabric>=1.18 tcp: stops watching a connection before it reads the request, and forgets
 * it if the request is incomplete when the receive timeout expires (pair_sock.c) or, until 2.1, if
 * the last call of that thread that failed returned EAGAIN. It never frees the memory (64 bytes),
 * and the descriptor stays open although the peer closes the connection: it is closed one period
 * after it was shut down.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/param.h"
#include "msgep/pair/pair_int.h"

static bool reap_knows(const struct pair_strays *list, struct pair_stray *stray)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].fd == stray->fd && list->at[i].inode == stray->inode) {
			stray->ended = list->at[i].ended;
			return true;
		}
	return false;
}

/* False: the endpoint's socket is not known: it would be taken for a stray. */
static bool reap_knows_socket(struct fid_ep *ep, int *fd, enum pair_state state, uint8_t dscp)
{
	if (ep && *fd < 0 && state == PAIR_UP)
		*fd = pair_sock_claim(ep, dscp);
	return !ep || *fd >= 0;
}

/* The sockets of all endpoints that the listeners have accepted must be known. */
static bool reap_knows_all(struct pair_net *net)
{
	struct dofi_list *pos;
	bool all = true;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each(pos, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		if (!pair->port)
			all &= reap_knows_socket(pair->ep, &pair->fd, pair->state, pair->dscp);
	}
	dofi_list_each(pos, &net->bulks)
	{
		struct pair_bulk *bulk = dofi_container(pos, struct pair_bulk, link);

		if (!bulk->conn->active)
			all &= reap_knows_socket(bulk->ep, &bulk->fd, bulk->state,
						 bulk->conn->ep->dscp);
	}
	return all;
}

/* Returns how many it has ended. `before`: those of the previous period. Meanwhile libfabric closes
 * none of them, so their descriptors are not used again. */
static unsigned int reap_end(struct pair_net *net, const struct pair_strays *before,
			     struct pair_strays *now)
{
	bool forgets = !dofi_fab_older(net->domain->fabric->fab, 1, 18);
	unsigned int ended = 0;
	size_t kept = 0;

	DOFI_ASSERT_LOCKED(&net->lock);
	for (size_t i = 0; i < now->n; i++) {
		struct pair_stray stray = now->at[i];

		if (!pair_sock_is_stray(&stray))
			continue;
		if (reap_knows(before, &stray)) {
			if (stray.ended && forgets) {
				close(stray.fd);
				continue;
			}
			ended += !stray.ended && !shutdown(stray.fd, SHUT_RDWR);
			stray.ended = true;
		}
		now->at[kept++] = stray;
	}
	now->n = kept;
	return ended;
}

void pair_reap_strays(struct msgep_domain *domain)
{
	struct pair_net *net = pair_net_of(domain);
	struct pair_strays before = net->strays, now = { NULL, 0, 0 };
	unsigned int ended = 0;

	for (size_t i = 0; i < net->n_listeners; i++)
		pair_sock_find_strays(&net->listeners[i], &now);
	if (before.n && now.n) {
		dofi_lock(&net->lock);
		/* Processes the requests that have arrived: their sockets get endpoints. */
		pair_read_eq(net);
		if (reap_knows_all(net))
			ended = reap_end(net, &before, &now);
		if (ended)
			pair_read_eq(net);
		dofi_unlock(&net->lock);
	}
	if (ended)
		dofi_log(DOFI_LOG_WARN,
			 "closed %u connections to the adapter: no request of libfabric within "
			 "%ld ms (DAPL_OFI_HALF_OPEN_MS)",
			 ended, dofi_param(DOFI_NUM_HALF_OPEN_MS));
	free(before.at);
	net->strays = now;
}
