/* SPDX-License-Identifier: BSD-2-Clause */
/* Two programs that communicate by RDMA writes and poll their own memory.
 *
 * rdma_write [-a ADAPTER] [-n COUNT] [-s SIZE]                      the server
 * rdma_write [-a ADAPTER] [-n COUNT] [-s SIZE] ADDRESS QUALIFIER    the client
 *
 * Each side sends the address and key of its buffer in the private data of the connection. A round
 * fills the buffer and ends with its number: the last bytes of a write become visible last, so a
 * side that sees the number has received all of the data. No receive is posted, and no DAT call is
 * needed to detect the data.
 */
#include <endian.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

#include "common.h"

#define SPINS 2000

/* The memory that the peer may write to; numbers in big-endian order. */
struct where {
	uint64_t address;
	uint32_t length;
	uint32_t key;
};

struct side {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE conn, out;
	struct ex_mem from, to; /* written from here; the peer writes there */
	DAT_RMR_TRIPLET target;
	size_t size;
};

static struct where describe(const struct ex_mem *mem)
{
	struct where w = { htobe64((uintptr_t)mem->p), htobe32((uint32_t)mem->len),
			   htobe32(mem->remote_key) };

	return w;
}

static void learn(struct side *s, const void *data, DAT_COUNT len)
{
	struct where w;

	if (len != sizeof(w))
		ex_die("the peer did not say where its memory is");
	memcpy(&w, data, sizeof(w));
	s->target.virtual_address = be64toh(w.address);
	s->target.segment_length = be32toh(w.length);
	s->target.rmr_context = be32toh(w.key);
	if (s->target.segment_length != s->size)
		ex_die("the peer's buffer has %u bytes, not %zu", s->target.segment_length,
		       s->size);
}

static void serve(struct ex *ex, struct side *s)
{
	DAT_EVD_HANDLE cr = ex_evd(ex, DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	DAT_PSP_HANDLE psp = ex_listen(ex, cr);
	struct where mine = describe(&s->to);
	DAT_CR_PARAM param;
	DAT_CR_HANDLE request;
	DAT_EVENT event;

	ex_wait(cr, DAT_TIMEOUT_INFINITE, DAT_CONNECTION_REQUEST_EVENT, &event);
	request = event.event_data.cr_arrival_event_data.cr_handle;
	ex_check(dat_psp_free(psp), "dat_psp_free");
	ex_check(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	learn(s, param.private_data, param.private_data_size);
	ex_check(dat_cr_accept(request, s->ep, sizeof(mine), &mine), "dat_cr_accept");
	ex_expect(s->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void join(struct side *s, const struct ex_args *args)
{
	struct where mine = describe(&s->to);
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_EVENT event;

	ex_connect(s->ep, args, &mine, sizeof(mine));
	ex_wait(s->conn, EX_PATIENCE, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	d = &event.event_data.connect_event_data;
	learn(s, d->private_data, d->private_data_size);
}

static void write_round(struct side *s, uint32_t round)
{
	DAT_LMR_TRIPLET segment = ex_segment(&s->from, 0, s->size);
	DAT_DTO_COOKIE cookie = { .as_64 = round };

	memset(s->from.p, (int)(round & 0x7f), s->size - sizeof(round));
	memcpy(s->from.p + s->size - sizeof(round), &round, sizeof(round));
	ex_check(dat_ep_post_rdma_write(s->ep, 1, &segment, cookie, &s->target,
					DAT_COMPLETION_DEFAULT_FLAG),
		 "dat_ep_post_rdma_write");
}

/* The number at the end of the buffer, which the peer writes: loaded from memory each time. */
static uint32_t seen(const struct side *s)
{
	return __atomic_load_n((uint32_t *)(void *)(s->to.p + s->size - sizeof(uint32_t)),
			       __ATOMIC_ACQUIRE);
}

static void watch_for(const struct side *s, uint32_t round)
{
	time_t give_up = time(NULL) + EX_PATIENCE / 1000000;

	for (unsigned long spins = 1; seen(s) != round; spins++) {
		if (spins % SPINS)
			continue;
		/* The machine may have fewer processors than polling processes. */
		sched_yield();
		if (time(NULL) > give_up)
			ex_die("round %u did not arrive", round);
	}
	for (size_t i = 0; i < s->size - sizeof(round); i++)
		if (s->to.p[i] != (char)(round & 0x7f))
			ex_die("round %u: byte %zu is wrong", round, i);
}

static void play(struct side *s, unsigned int count, bool first)
{
	for (uint32_t round = 1; round <= count; round++) {
		if (first)
			write_round(s, round);
		watch_for(s, round);
		if (!first)
			write_round(s, round);
		ex_expect(s->out, DAT_DTO_COMPLETION_EVENT);
	}
	printf("%u rounds of %zu bytes, all complete\n", count, s->size);
}

int main(int argc, char **argv)
{
	struct ex_args args = { .adapter = "ofi", .count = 200, .size = 4096 };
	struct side s;
	struct ex ex;

	ex_args(argc, argv, &args);
	s.size = args.size & ~(size_t)3;
	ex_open(&ex, args.adapter);
	s.conn = ex_evd(&ex, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	s.out = ex_evd(&ex, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	ex_register(&ex, &s.from, s.size);
	ex_register(&ex, &s.to, s.size);
	ex_check(dat_ep_create(ex.ia, ex.pz, DAT_HANDLE_NULL, s.out, s.conn, NULL, &s.ep),
		 "dat_ep_create");
	if (args.address)
		join(&s, &args);
	else
		serve(&ex, &s);
	play(&s, args.count, args.address != NULL);
	if (args.address)
		ex_check(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	ex_expect(s.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	ex_check(dat_ep_free(s.ep), "dat_ep_free");
	ex_unregister(&s.from);
	ex_unregister(&s.to);
	ex_close(&ex);
	return 0;
}
