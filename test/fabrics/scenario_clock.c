/* SPDX-License-Identifier: BSD-2-Clause */
/* Vector clocks in the messages of a scenario check the order across its endpoints: a message that
 * was posted after sends were reported complete must not be received before their messages. */
#include "scenario.h"

/* What a message of at least this size begins with. */
struct clock {
	uint32_t number;           /* of the message on its connection */
	uint32_t complete[SC_EPS]; /* sends of each endpoint that were known to be complete */
};

size_t sc_clock_size(size_t len)
{
	return len >= sizeof(struct clock) ? sizeof(struct clock) : 0;
}

/* Copies between the clock and the start of an operation's segments. The transport may have written
 * those, and TSan does not see how the two processes agree about that. */
__attribute__((no_sanitize("thread"))) static void copy(const struct sc_op *op, struct clock *clock,
							bool stamp)
{
	unsigned char *p = (unsigned char *)clock, *end = p + sizeof(*clock);

	for (int i = 0; i < op->segments && p < end; i++) {
		unsigned char *data = (unsigned char *)(uintptr_t)op->seg[i].virtual_address;

		for (size_t k = 0; k < op->seg[i].segment_length && p < end; k++, p++) {
			if (stamp)
				data[k] = *p;
			else
				*p = data[k];
		}
	}
}

void sc_clock_send(struct sc_side *s, int n, struct sc_op *op, size_t len)
{
	struct clock clock = { .number = s->ep[n].sent++ };

	if (!sc_clock_size(len))
		return;
	for (int i = 0; i < SC_EPS; i++)
		clock.complete[i] = s->ep[i].complete;
	copy(op, &clock, true);
}

/* Requests of an endpoint complete in order, so this one stands for those before it, too. */
void sc_clock_complete(struct sc_side *s, int n, const struct sc_op *op)
{
	s->ep[n].complete = op->sent;
}

void sc_clock_receive(struct sc_side *s, int n, const struct sc_op *op, size_t len)
{
	unsigned int number = s->ep[n].received++;
	struct clock clock;

	if (!sc_clock_size(len))
		return;
	copy(op, &clock, false);
	RL_CHECK(clock.number == number, "step %d: message %u of endpoint %d arrived as number %u",
		 s->step, clock.number, n, number);
	for (int i = 0; i < s->scene->eps; i++)
		RL_CHECK(
			s->ep[i].received >= clock.complete[i],
			"step %d: message %u of endpoint %d was posted when %u sends of endpoint %d"
			" were complete, and is reported when %u of those have been",
			s->step, number, n, clock.complete[i], i, s->ep[i].received);
}

void sc_clock_reset(struct sc_side *s, int n)
{
	s->ep[n].sent = s->ep[n].complete = s->ep[n].received = 0;
}
