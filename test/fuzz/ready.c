/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the reader of a ready ring: whatever the peer writes, only its own connections are
 * visited, and those that it has announced correctly are visited.
 *
 * The input is a list of steps: the peer writes entries (the next one, or any value anywhere),
 * connections come and go, their locks are held or their messages wait, and the ring is polled.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "msgep/ready.h"

#define EPS 40

static struct {
	const uint8_t *at, *end;
} input;

static struct msgep_ready *r;
static struct msgep_ready_ring ring;
static struct msgep_eq eq;
static struct msgep_cq cq;
static struct msgep_ep eps[EPS];
static bool there[EPS];    /* a frame has been committed that has not been processed */
static bool attached[EPS]; /* the connection is up */
static bool held[EPS];     /* "another thread" holds the lock of the endpoint */
static unsigned int visits;

static uint64_t number(size_t bytes)
{
	uint64_t value = 0;

	while (bytes-- && input.at < input.end)
		value = value << 8 | *input.at++;
	return value;
}

/* ---------------------------------------------------------------- environment */

static bool is_ready(struct msgep_ep *ep)
{
	MUST(ep >= eps && ep < eps + EPS && attached[ep - eps]);
	return there[ep - eps] && !ep->stalled;
}

static bool is_drained(struct msgep_ep *ep, bool died)
{
	(void)died;
	return !there[ep - eps];
}

static bool is_quiet(struct msgep_ep *ep, bool room)
{
	(void)room;
	return !is_ready(ep);
}

static void announce(struct msgep_ep *ep, uint32_t n)
{
	MUST(r->eps[n].ep == ep);
}

static void drain(struct msgep_domain *domain)
{
	(void)domain;
}

static const struct msgep_transport transport = {
	.ready = is_ready,
	.drained = is_drained,
	.quiet = is_quiet,
	.announce = announce,
	.drain_stores = drain,
};

unsigned int msgep_proto_progress(struct msgep_ep *ep)
{
	MUST(ep >= eps && ep < eps + EPS && attached[ep - eps]);
	visits++;
	if (!ep->stalled)
		there[ep - eps] = false;
	return 0;
}

bool msgep_cq_attach_ready(struct msgep_cq *to, struct msgep_ready *ready)
{
	MUST(to == &cq && ready == r);
	return true;
}

void msgep_cq_stop_polling(struct msgep_cq *from, const struct msgep_ep *ep)
{
	MUST(from == &cq && ep->ready == r);
}

/* ---------------------------------------------------------------- steps */

/* One thread holds locks for two, which ThreadSanitizer takes for an order of locks. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "detect_deadlocks=0";
}

/* The names in parentheses are those that debug builds do not record for this thread. */
static void hold(unsigned int i, bool on)
{
	if (held[i] == on)
		return;
	held[i] = on;
	if (on)
		MUST((dofi_trylock)(&eps[i].lock));
	else
		(dofi_unlock)(&eps[i].lock);
}

static bool is_locked(void)
{
	for (unsigned int i = 0; i < EPS; i++)
		if (attached[i] && held[i])
			return true;
	return false;
}

static void poll_ring(void)
{
	visits = 0;
	msgep_ready_poll(r, NULL);
	/* Each at most once. */
	MUST(visits <= EPS);
	MUST(r->n_active <= r->n_eps);
	MUST(r->n_eps <= r->capacity || !r->capacity);
	/* It waits for the locks. */
	if (!is_locked())
		msgep_ready_is_quiet(r);
}

static void open_or_close(unsigned int i)
{
	if (attached[i]) {
		msgep_ready_remove(&eps[i]);
		attached[i] = false;
		hold(i, false);
		memset(&eps[i], 0, sizeof(eps[i]));
		return;
	}
	dofi_lock_init(&eps[i].lock);
	eps[i].transport = &transport;
	eps[i].eq = &eq;
	eps[i].ready = r;
	atomic_store(&eps[i].state, MSGEP_UP);
	attached[i] = true;
	there[i] = false;
	msgep_ready_add(&eps[i]);
	MUST(eps[i].has_ready_number);
}

/* As a valid peer does it, at the reader's position: the frame is found. */
static void announce_frame(unsigned int i)
{
	uint32_t entry = r->head + 1;

	if (!attached[i] || !eps[i].has_ready_number)
		return;
	there[i] = true;
	atomic_store(&ring.entries[entry % MSGEP_READY_ROOM],
		     (uint64_t)entry << 32 | eps[i].ready_number);
	/* The next one is not there yet. */
	atomic_store(&ring.entries[(entry + 1) % MSGEP_READY_ROOM], (uint64_t)entry << 32);
	if (held[i] || eps[i].stalled)
		return;
	poll_ring();
	MUST(!there[i]);
}

static void step(void)
{
	uint8_t what = (uint8_t)number(1);
	unsigned int i = (unsigned int)number(1) % EPS;
	uint32_t at;

	switch (what % 8) {
	case 0:
	case 1:
		announce_frame(i);
		break;
	case 2:
		at = r->head + (uint32_t)number(1) % 20;
		atomic_store(&ring.entries[at % MSGEP_READY_ROOM],
			     (r->head + number(2)) << 32 | number(1));
		break;
	case 3:
		at = (uint32_t)number(2);
		atomic_store(&ring.entries[at % MSGEP_READY_ROOM], number(8));
		break;
	case 4:
		open_or_close(i);
		break;
	case 5:
		if (attached[i])
			eps[i].stalled = what & 8;
		break;
	case 6:
		/* Another thread holds the lock, or no more. */
		if (attached[i])
			hold(i, what & 8);
		break;
	default:
		break;
	}
	poll_ring();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input.at = data;
	input.end = data + size;
	memset(&ring, 0, sizeof(ring));
	memset(eps, 0, sizeof(eps));
	memset(attached, 0, sizeof(attached));
	memset(there, 0, sizeof(there));
	memset(held, 0, sizeof(held));
	r = aligned_alloc(64, sizeof(*r));
	if (!r)
		abort();
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&eq.lock, NULL);
	r->rx_cq = r->tx_cq = &cq;
	r->transport = &transport;
	r->in = &ring;
	/* So that entry numbers wrap in some runs. */
	if (number(1) & 1)
		r->head = UINT32_MAX - (uint32_t)number(1);
	pthread_mutex_lock(&eq.lock);
	while (input.at < input.end)
		step();
	pthread_mutex_unlock(&eq.lock);
	free(r->active);
	free(r->eps);
	free(r);
	return 0;
}
