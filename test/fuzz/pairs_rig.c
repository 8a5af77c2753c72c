/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements the environment of the pairs fuzz target: the adapter, its endpoints and posted
 * operations, and valid handshakes with two peers.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/param.h"
#include "base/be_bytes.h"
#include "fabric_msg.h"
#include "fuzz.h"
#include "msgep/ready.h"
#include "fabric/netif.h"
#include "pairs.h"
#include "msgep/cm/cm.h"
#include "diag/diag.h"

#define BUFFER (40u << 10)
#define OPS 512

struct op {
	bool receive, shared, done;
	size_t len;
	char *buf;
};

struct pairs_input input;

static const struct dofi_fabric_desc row = { .name = "fuzz", .prov_name = "fuzz" };
static struct dofi_fab fab = { .desc = &row, .lib_version = FI_VERSION(1, 18) };
static struct msgep_fabric fabric = { .fab = &fab, .transport = &msgep_transport_pair };
struct msgep_domain adapter;
static struct msgep_eq *eq;
struct msgep_ep *eps[EPS];
static struct msgep_cq cq;
struct fid_ep *srx;
static struct fid_mr *mr;
char *memory;
static struct op ops[OPS];
static unsigned int n_ops;
struct peer peers[PEERS];
static uint32_t peer_conns; /* connections that the peers have had */
bool shaken;                /* the fabric has ended a pair */

/* ---------------------------------------------------------------- environment */

static uint64_t now;
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

/* A fake clock that advances with every read, so that closing an adapter ends. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!now || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ts);
	now += 5000000;
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

void dofi_log(enum dofi_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

const char *dofi_param_str(enum dofi_string which)
{
	(void)which;
	return NULL;
}

long dofi_param(enum dofi_number number)
{
	(void)number;
	return 0;
}

void dofi_diag_info(const struct dofi_fab *f, const struct fi_info *hints, int ret)
{
	(void)f;
	(void)hints;
	(void)ret;
}

void dofi_diag_object(const struct dofi_fab *f, const char *what, int ret)
{
	(void)f;
	(void)what;
	(void)ret;
}

const union dofi_addr *dofi_netif_source(const struct dofi_fab *f, const union dofi_addr *to)
{
	(void)f;
	(void)to;
	return NULL;
}

void msgep_cq_wake(struct msgep_cq *woken)
{
	MUST(woken == &cq);
}

void msgep_cq_wake_watching(struct msgep_domain *of)
{
	(void)of;
}

int msgep_cq_attach(struct msgep_cq *to, struct msgep_ep *e)
{
	(void)to;
	(void)e;
	return 0;
}

void msgep_cq_add_receiver(struct msgep_cq *to, struct msgep_ep *newest)
{
	newest->rx_cq = to;
}

/* Only connections over shared memory have ready rings. */
void msgep_ready_add(struct msgep_ep *e)
{
	(void)e;
	abort();
}

void msgep_ready_remove(struct msgep_ep *e)
{
	MUST(!e->ready);
}

void msgep_cq_detach(struct msgep_cq *from, struct msgep_ep *e)
{
	(void)from;
	(void)e;
}

void msgep_cq_rely_on_reports(struct msgep_cq *from, struct msgep_ep *e)
{
	(void)from;
	(void)e;
}

bool msgep_cq_add_doorbell(struct msgep_cq *to, struct msgep_ep *e)
{
	(void)to;
	(void)e;
	return true;
}

/* The buffer belongs to the program again: freed at once, so that a later access is detected. */
void msgep_cq_push(struct msgep_cq *to, void *context, uint64_t flags, uint64_t len, uint64_t data,
		   int err)
{
	struct op *op = context;

	(void)data;
	MUST(to == &cq && err >= 0 && op >= ops && op < ops + n_ops);
	MUST(!op->done);
	MUST(op->receive == !!(flags & (FI_RECV | FI_REMOTE_WRITE)));
	MUST(err || !(flags & FI_RECV) || len <= op->len);
	op->done = true;
	free(op->buf);
	op->buf = NULL;
}

/* ---------------------------------------------------------------- input */

uint64_t number(size_t bytes)
{
	uint64_t value = 0;

	while (bytes-- && input.at < input.end)
		value = value << 8 | *input.at++;
	return value;
}

uint8_t byte(void)
{
	return (uint8_t)number(1);
}

/* A number that is small, near a bound, or anything. */
uint64_t some(uint64_t bound)
{
	uint8_t sort = byte();

	switch (sort >> 6) {
	case 0:
		return sort & 63;
	case 1:
		return bound + (sort & 63) - 32;
	case 2:
		return number(3);
	default:
		return number(8);
	}
}

/* ---------------------------------------------------------------- the adapter's side */

struct pair_net *net(void)
{
	return pair_net_of(&adapter);
}

bool is_honest(unsigned int i)
{
	return i >= HONEST_ACTIVE;
}

bool pairs_may_end(const struct msgep_ep *e)
{
	return shaken || (e != eps[HONEST_ACTIVE] && e != eps[HONEST_PASSIVE]);
}

struct pair *pair_of_peer(const struct peer *peer)
{
	struct pair *pair = peer->index < net()->n_pairs ? net()->pair_table[peer->index] : NULL;

	return pair && pair_mark(pair->index, pair->serial) == peer->route && pair->state == PAIR_UP
		       ? pair
		       : NULL;
}

void look(void)
{
	struct fi_cq_data_entry out[4];
	struct msgep_cq_direct direct = { .cq = &cq, .out = out, .capacity = byte() % 5 };

	msgep_transport_pair.progress(&adapter, &direct);
	for (size_t i = 0; i < direct.n; i++)
		msgep_cq_push(&cq, out[i].op_context, out[i].flags, out[i].len, out[i].data, 0);
}

static struct op *new_op(size_t len, bool receive)
{
	struct op *op = &ops[n_ops];

	if (n_ops == OPS)
		return NULL;
	n_ops++;
	*op = (struct op){ .receive = receive, .len = len, .buf = malloc(len ? len : 1) };
	memset(op->buf, 'o', len);
	return op;
}

/* It is the last one. */
static void drop_op(struct op *op)
{
	MUST(!op->done);
	free(op->buf);
	n_ops--;
}

void post(struct msgep_ep *e, unsigned int sort)
{
	struct op *op = new_op(some(PAIR_BULK_FROM) % (BUFFER + 1), false);
	struct iovec iov = { op ? op->buf : NULL, op ? op->len : 0 };
	struct fi_rma_iov rma = { .addr = 64, .key = 1, .len = iov.iov_len };
	struct fi_msg_rma rma_op = {
		.msg_iov = &iov, .iov_count = 1, .rma_iov = &rma, .rma_iov_count = 1, .context = op
	};
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = op };
	ssize_t ret;

	if (!op)
		return;
	if (sort == 0)
		ret = msgep_msg_ops.sendmsg(&e->fid, &msg, 0);
	else
		ret = sort == 1 ? msgep_rma_ops.writemsg(&e->fid, &rma_op, 0)
				: msgep_rma_ops.readmsg(&e->fid, &rma_op, 0);
	if (ret)
		drop_op(op);
}

void post_receive(struct fid_ep *to)
{
	struct op *op = new_op(byte() & 1 ? BUFFER : some(BUFFER) % (BUFFER + 1), true);
	struct iovec iov[2];
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .context = op };

	if (!op)
		return;
	op->shared = to == srx;
	iov[0] = (struct iovec){ op->buf, op->len / 3 };
	iov[1] = (struct iovec){ op->buf + op->len / 3, op->len - op->len / 3 };
	if (to->msg->recvmsg(to, &msg, 0))
		drop_op(op);
}

void open_region(void)
{
	struct iovec iov = { memory, REGION };
	struct fi_mr_attr attr = { .mr_iov = &iov,
				   .iov_count = 1,
				   .requested_key = KEY,
				   .access = FI_REMOTE_READ | FI_REMOTE_WRITE };

	if (mr)
		return;
	/* Freed with the region, so that a later access is detected. */
	memory = calloc(1, REGION);
	iov.iov_base = memory;
	MUST(!msgep_mr_ops.regattr(&adapter.fid.fid, &attr, 0, &mr));
}

void close_region(void)
{
	if (!mr)
		return;
	MUST(!fi_close(&mr->fid));
	mr = NULL;
	free(memory);
	memory = NULL;
}

/* ---------------------------------------------------------------- honest handshakes */

static void params_of(const struct peer *peer, const uint8_t *token, struct msgep_params *out)
{
	uint8_t *p = out->data;

	memset(out, 0, sizeof(*out));
	out->fd = -1;
	out->len = PAIR_PARAMS;
	p = dofi_put_be(p, PAIR_VERSION, 1);
	p = dofi_put_be(p, 0, 1);
	p = dofi_put_be(p, 4711, 2);
	p = dofi_put_be(p, byte() & 1 ? PAIR_WINDOW : 2 * PAIR_PAYLOAD, 4);
	p = dofi_put_be(p, ++peer_conns, 4);
	p = dofi_put_be(p, 1, 4);
	memcpy(p, peer->name, PAIR_NAME);
	if (token)
		memcpy(p + PAIR_NAME, token, PAIR_NAME);
}

void param_of(const struct peer *peer, const uint8_t *token, uint8_t *param)
{
	uint8_t *p = param;

	memset(param, 0, PAIR_PARAM);
	p = dofi_put_be(p, PAIR_MAGIC, 4);
	p = dofi_put_be(p, PAIR_VERSION, 4);
	p = dofi_put_be(p, 5, 8);
	p = dofi_put_be(p, 77, 8);
	memcpy(p, peer->name, PAIR_NAME);
	if (token)
		memcpy(p + PAIR_NAME, token, PAIR_NAME);
}

static struct pair *newest_pair(void)
{
	return dofi_container(net()->pairs.prev, struct pair, link);
}

void read_events(void)
{
	dofi_lock(&net()->lock);
	pair_read_eq(net());
	dofi_unlock(&net()->lock);
}

/* The event is queued, and not read. */
static void establish_pair(struct peer *peer)
{
	struct pair *pair = newest_pair();
	uint8_t param[PAIR_PARAM];

	param_of(peer, NULL, param);
	fabric_msg_event(FI_CONNECTED, &pair->ep->fid, param, sizeof(param));
	peer->index = pair->index;
	peer->route = pair_mark(pair->index, pair->serial);
}

static void send_control_on(const struct pair *pair, const struct pair_conn *conn, uint8_t kind,
			    uint64_t value)
{
	struct {
		struct pair_head head;
		struct msgep_frame f;
	} msg;

	memset(&msg, 0, sizeof(msg));
	msg.head.index = htole32(pair->index);
	msg.head.key = htole64(pair->key);
	msg.f.kind = kind;
	msg.f.mark = htole64(conn->mark);
	msg.f.value = htole64(value);
	if (fabric_msg_deliver(&msg, sizeof(msg)))
		look();
}

void send_control(const struct peer *peer, const struct pair_conn *conn, uint8_t kind,
		  uint64_t value)
{
	const struct pair *pair = pair_of_peer(peer);

	if (pair)
		send_control_on(pair, conn, kind, value);
}

/* Makes all of an endpoint's connection, or a part. Caller holds eq->lock. */
static void connect_ep(unsigned int i)
{
	struct peer *peer = &peers[is_honest(i)];
	bool active = i == ACTIVE || i == FRESH || i == HONEST_ACTIVE;
	uint8_t param[PAIR_PARAM];
	const struct pair_conn *conn;
	struct msgep_params in, out;

	if (active)
		MUST(!msgep_transport_pair.get_params(eps[i], true, &out));
	if (i == FRESH)
		return;
	params_of(peer, NULL, &in);
	MUST(!msgep_transport_pair.set_peer_params(eps[i], active, &in));
	if (active) {
		if (!pair_of_peer(peer)) {
			establish_pair(peer);
			read_events();
			MUST(pair_of_peer(peer));
		}
		msgep_ep_up(eps[i]);
		return;
	}
	MUST(!msgep_transport_pair.get_params(eps[i], false, &out));
	if (i == WAITING)
		return;
	if (!pair_of_peer(peer)) {
		param_of(peer, out.data + 32, param);
		fabric_msg_event(FI_CONNREQ, NULL, param, sizeof(param));
		read_events();
		establish_pair(peer);
		/* The honest peer's attachment arrives before the event is read. */
		if (!is_honest(i))
			read_events();
		MUST(pair_of_peer(peer) || is_honest(i));
	}
	msgep_ep_up(eps[i]);
	conn = eps[i]->w.pair;
	send_control_on(net()->pair_table[peer->index], conn, PAIR_ATTACH, conn->peer_mark);
	MUST(!is_honest(i) || (conn->pair && conn->pair == pair_of_peer(peer)));
}

void open_ep(unsigned int i)
{
	struct fi_rx_attr rx = { .size = 4 };
	struct fi_info info = { .rx_attr = &rx };
	struct fid_ep *fid;

	MUST(!msgep_ep_open(&adapter.fid, &info, &fid, NULL));
	eps[i] = dofi_container(fid, struct msgep_ep, fid);
	eps[i]->peer.sa.sa_family = eps[i]->local.sa.sa_family = AF_INET;
	eps[i]->eq = eq;
	eps[i]->tx_cq = eps[i]->rx_cq = &cq;
	if (i == SHARED)
		eps[i]->srx = dofi_container(srx, struct msgep_srx, fid);
	atomic_store(&eps[i]->state, MSGEP_CONNECTING);
	pthread_mutex_lock(&eq->lock);
	connect_ep(i);
	pthread_mutex_unlock(&eq->lock);
}

void close_ep(unsigned int i)
{
	if (eps[i])
		MUST(!fi_close(&eps[i]->fid.fid));
	eps[i] = NULL;
}

/* ---------------------------------------------------------------- all of it */

/* Checks that unused shared receives are still posted and all others complete. */
static void check_shared(void)
{
	const struct msgep_srx *s = dofi_container(srx, struct msgep_srx, fid);
	unsigned int left = 0;

	for (unsigned int i = 0; i < n_ops; i++)
		left += ops[i].shared && !ops[i].done;
	MUST(left == s->tail - s->head);
}

void set_up(void)
{
	struct fi_rx_attr rx = { .size = 4 };

	now = 1000000000;
	shaken = false;
	fabric_msg_open();
	fab.addr.sa.sa_family = AF_INET;
	memset(&adapter, 0, sizeof(adapter));
	memset(&cq, 0, sizeof(cq));
	adapter.fabric = &fabric;
	pthread_rwlock_init(&adapter.mr_lock, NULL);
	dofi_lock_init(&adapter.transport_lock);
	dofi_key_map_init(&adapter.mrs);
	dofi_list_init(&adapter.ep_list);
	eq = pairs_cm_open(&adapter);
	MUST(!msgep_transport_pair.domain_open(&adapter));
	MUST(!msgep_srx_open(&adapter.fid, &rx, &srx, NULL));
	n_ops = 0;
	peer_conns = 100;
	memset(peers, 0, sizeof(peers));
	for (unsigned int i = 0; i < PEERS; i++)
		memset(peers[i].name, 'a' + (int)i, PAIR_NAME);
	open_region();
	for (unsigned int i = 0; i < HONEST_ACTIVE; i++)
		open_ep(i);
	open_ep(HONEST_PASSIVE);
	open_ep(HONEST_ACTIVE);
}

void tear_down(void)
{
	for (unsigned int i = 0; i < EPS; i++)
		close_ep(i);
	close_region();
	check_shared();
	fabric_msg_hold(false);
	pairs_cm_close(&adapter);
	msgep_transport_pair.domain_close(&adapter);
	MUST(fabric_msg_closed());
	MUST(!fi_close(&srx->fid));
	for (unsigned int i = 0; i < n_ops; i++)
		if (!ops[i].done)
			free(ops[i].buf);
	dofi_key_map_free(&adapter.mrs);
	pthread_rwlock_destroy(&adapter.mr_lock);
	now = 0;
}
