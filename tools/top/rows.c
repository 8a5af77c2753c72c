/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes rates of adapters and connections from two snapshots, and sorts them. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

#include "top.h"

static const char *const keys[TOP_KEYS] = {
	[TOP_PID] = "pid",       [TOP_PROGRAM] = "program", [TOP_RATE] = "rate",
	[TOP_TX] = "tx",         [TOP_RX] = "rx",           [TOP_QUEUE] = "queue",
	[TOP_STALLS] = "stalls", [TOP_RETRANS] = "retrans", [TOP_WAKEUPS] = "wakeups",
};

enum top_key top_key_of(const char *name)
{
	int key = 0;

	while (key < TOP_KEYS && strcmp(keys[key], name))
		key++;
	return (enum top_key)key;
}

/* The numbers are the same in both API versions. */
const char *top_ep_state(unsigned int state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return "unconnected";
	case DAT_EP_STATE_RESERVED:
		return "reserved";
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return "requested";
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return "connecting";
	case DAT_EP_STATE_COMPLETION_PENDING:
		return "accepting";
	case DAT_EP_STATE_CONNECTED:
		return "connected";
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return "draining";
	case DAT_EP_STATE_DISCONNECTED:
		return "disconnected";
	default:
		return "unknown";
	}
}

bool top_evd_waited(const struct dofi_evd_slot *evd)
{
	return evd->waits != evd->waits_over;
}

/* Counters are read while they change: a difference below 0 is none. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t posted_requests(const struct dofi_ep_slot *e)
{
	return e->posted[0].n + e->posted[1].n + e->posted[2].n + e->write_immed.n + e->ud_sent.n +
	       e->fetch_adds + e->cmp_swaps + e->binds;
}

static uint64_t received(const struct dofi_ep_slot *e)
{
	return e->received.n + e->write_immed_received.n + e->ud_received.n;
}

/* Operations that move data, at this side. */
static uint64_t messages(const struct dofi_ep_slot *e)
{
	return posted_requests(e) - e->binds + received(e);
}

static uint64_t tx_bytes(const struct dofi_ep_slot *e)
{
	return e->posted[0].bytes + e->posted[1].bytes + e->write_immed.bytes + e->ud_sent.bytes;
}

/* Writes of the peer are not known here. */
static uint64_t rx_bytes(const struct dofi_ep_slot *e)
{
	return e->received.bytes + e->posted[2].bytes + e->ud_received.bytes;
}

static uint64_t peer_retransmits(const struct top_process *p, const struct dofi_ep_slot *e)
{
	for (size_t i = 0; i < p->peers; i++)
		if (p->peer[i].family == e->family &&
		    !memcmp(p->peer[i].addr, e->remote, e->family == AF_INET ? 4 : 16))
			return p->peer[i].retransmits;
	return 0;
}

static void add_ep(struct top_row *row, const struct dofi_ep_slot *e,
		   const struct dofi_ep_slot *was, double seconds)
{
	row->connections += e->state == DAT_EP_STATE_CONNECTED;
	row->messages += messages(e);
	row->tx_bytes += tx_bytes(e);
	row->rx_bytes += rx_bytes(e);
	row->requests += less(posted_requests(e), e->requests_done);
	if (!(e->kind & DOFI_SLOT_SRQ))
		row->receives += less(e->posted[3].n, received(e) + e->receives_failed);
	if (seconds <= 0)
		return;
	/* One that is new since then began at 0. */
	row->rate += (double)less(messages(e), was ? messages(was) : 0) / seconds;
	row->tx += (double)less(tx_bytes(e), was ? tx_bytes(was) : 0) / seconds;
	row->rx += (double)less(rx_bytes(e), was ? rx_bytes(was) : 0) / seconds;
}

static double seconds_between(const struct top_process *now, const struct top_process *was)
{
	return was ? (double)less(now->time_ns, was->time_ns) / 1e9 : 0;
}

static void fill_ia(struct top_row *row, const struct top_process *p, const struct dofi_ia_slot *ia,
		    const struct top_process *was)
{
	const struct dofi_ia_slot *old = top_same_ia(was, ia);
	double seconds = seconds_between(p, was);

	row->p = p;
	row->ia = ia;
	for (size_t i = 0; i < p->eps; i++)
		if (p->ep[i].head.ia == ia->head.number)
			add_ep(row, &p->ep[i], top_same_ep(was, &p->ep[i]), seconds);
	for (size_t i = 0; i < p->evds; i++)
		row->waiting += p->evd[i].head.ia == ia->head.number && top_evd_waited(&p->evd[i]);
	row->stalls = ia->stalls;
	row->retransmits = p->retransmits;
	if (seconds > 0)
		row->wakeups = (double)less(ia->wakeups, old ? old->wakeups : 0) / seconds;
}

static const struct dofi_ia_slot *ia_of(const struct top_process *p, const struct dofi_ep_slot *ep)
{
	for (size_t i = 0; i < p->ias; i++)
		if (p->ia[i].head.number == ep->head.ia)
			return &p->ia[i];
	return NULL;
}

bool top_rows(struct top_rows *rows, const struct top_snapshot *now,
	      const struct top_snapshot *before, bool eps)
{
	size_t most = 0;

	memset(rows, 0, sizeof(*rows));
	for (size_t i = 0; i < now->count; i++)
		most += eps ? now->process[i].eps : now->process[i].ias;
	rows->row = calloc(most + 1, sizeof(*rows->row));
	if (!rows->row)
		return false;
	for (size_t i = 0; i < now->count; i++) {
		const struct top_process *p = &now->process[i], *was = top_same_process(before, p);

		for (size_t k = 0; k < (eps ? p->eps : p->ias); k++) {
			struct top_row *row = &rows->row[rows->count++];

			if (!eps) {
				fill_ia(row, p, &p->ia[k], was);
				continue;
			}
			row->p = p;
			row->ep = &p->ep[k];
			row->ia = ia_of(p, row->ep);
			add_ep(row, row->ep, top_same_ep(was, row->ep), seconds_between(p, was));
			row->retransmits = peer_retransmits(p, row->ep);
		}
	}
	return true;
}

static double value_of(const struct top_row *row, enum top_key key)
{
	switch (key) {
	case TOP_RATE:
		return row->rate;
	case TOP_TX:
		return row->tx;
	case TOP_RX:
		return row->rx;
	case TOP_QUEUE:
		return (double)(row->requests + row->receives);
	case TOP_STALLS:
		return (double)row->stalls;
	case TOP_RETRANS:
		return (double)row->retransmits;
	case TOP_WAKEUPS:
		return row->wakeups;
	default:
		return 0;
	}
}

static enum top_key sort_key;

/* Largest first; equal ones by process and number. */
static int compare(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	double vx = value_of(x, sort_key), vy = value_of(y, sort_key);
	int order = sort_key == TOP_PROGRAM ? strcmp(x->p->program, y->p->program) : 0;

	if (vx != vy)
		return vx < vy ? 1 : -1;
	if (order)
		return order;
	if (x->p->pid != y->p->pid)
		return x->p->pid < y->p->pid ? -1 : 1;
	if (x->ep && y->ep && x->ep->head.number != y->ep->head.number)
		return x->ep->head.number < y->ep->head.number ? -1 : 1;
	return 0;
}

void top_sort(struct top_rows *rows, enum top_key key)
{
	sort_key = key;
	qsort(rows->row, rows->count, sizeof(*rows->row), compare);
}
