/* SPDX-License-Identifier: BSD-2-Clause */
/* Validates received data: each byte is a function of the number of its message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "proc.h"

static inline uint8_t pattern_byte(uint64_t seq, size_t at)
{
	return (uint8_t)(seq + at * 7 + (at >> 8));
}

/* For tests of the validation: corrupts one byte from this fill on (1 is the first). */
static bool corrupt_now(void)
{
	static long first = -1, fillings;
	const char *text;

	if (first < 0) {
		text = getenv("DAT_PERF_CORRUPT");
		first = text ? strtol(text, NULL, 10) : 0;
	}
	return first > 0 && ++fillings >= first;
}

void perf_fill_bytes(uint8_t *mem, size_t len, uint64_t seq, bool may_corrupt)
{
	size_t i;

	for (i = 0; i < len; i++)
		mem[i] = pattern_byte(seq, i);
	if (may_corrupt && len && corrupt_now())
		mem[len / 2] ^= 0x40;
}

int perf_check_bytes(const char *layer, const uint8_t *mem, size_t len, uint64_t seq,
		     const char *what)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (mem[i] != pattern_byte(seq, i))
			return perf_error(-EBADMSG, layer, "validate",
					  "%s %lu, byte %zu of %zu: 0x%02x instead of 0x%02x", what,
					  (unsigned long)seq, i, len, mem[i], pattern_byte(seq, i));
	return 0;
}

/* A read fills the buffer, so clear what the previous one left; a turn is filled separately. */
void perf_fill(struct perf_side *s, const struct perf_work *w, bool closing)
{
	const struct perf_case *c = s->hub->dev->c;

	switch (w->op) {
	case PERF_SEND:
		perf_fill_bytes(w->slot->mem, w->len, s->sent_seq++, !closing);
		break;
	case PERF_WRITE:
		if (c->test == PERF_LAT) {
			perf_fill_bytes(w->slot->mem, w->len - 1, s->turn, true);
			break;
		}
		perf_fill_bytes(w->slot->mem, w->len, s->wrote++, true);
		break;
	case PERF_IMMED:
		perf_fill_bytes(w->slot->mem, w->len, s->wrote++, true);
		break;
	default:
		memset(w->slot->mem, 0, w->len);
		s->wrote++;
		break;
	}
	w->slot->expect = w->number;
	w->slot->checked = perf_fetches(w->op);
}

void perf_fill_target(struct perf_side *s)
{
	const struct perf_case *c = s->hub->dev->c;
	int i;

	for (i = 0; c->op == PERF_READ && i < c->window; i++)
		perf_fill_bytes(s->target + (size_t)i * s->hub->stride, c->size, (uint64_t)i, true);
}

/* Each operation finds the result of the previous one: the first finds zero. */
static int check_fetched(const struct perf_slot *slot)
{
	uint64_t found;

	memcpy(&found, slot->mem, sizeof(found));
	if (found == slot->expect)
		return 0;
	return perf_error(-EBADMSG, slot->hub->layer->name, "validate",
			  "atomic operation found %llu instead of %llu", (unsigned long long)found,
			  (unsigned long long)slot->expect);
}

static void slot_reset(struct perf_slot *slot)
{
	struct perf_slots *slots = slot->side ? &slot->side->rx : &slot->hub->shared_rx;

	if (slots->n > 1)
		slots->spare[slots->spares++] = slot;
}

int perf_check_immed(struct perf_side *s, const uint32_t *data)
{
	const struct perf_case *c = s->hub->dev->c;
	uint64_t seq = s->heard_immed++;

	if (data && *data != (uint32_t)seq)
		return perf_error(-EBADMSG, s->layer->name, "validate",
				  "immediate data: %u instead of %u", *data, (uint32_t)seq);
	/* the next write of the window to this place may have arrived already */
	return c->test == PERF_LAT
		       ? perf_check_bytes(s->layer->name, s->target, c->size, seq, "write")
		       : 0;
}

/* On a shared receive queue the connection is unknown. */
int perf_check_immed_slot(struct perf_slot *slot, const uint32_t *data)
{
	slot_reset(slot);
	return slot->side ? perf_check_immed(slot->side, data) : 0;
}

static int check_message(struct perf_slot *slot, size_t len)
{
	const struct perf_layer *layer = slot->hub->layer;
	size_t size = slot->hub->dev->c->size;
	/* on a shared queue only the message itself has its number */
	uint64_t seq = slot->side ? slot->side->heard_seq++ : slot->mem[0];

	if (len != size && len != 1)
		return perf_error(-EBADMSG, layer->name, "validate",
				  "a message of %zu bytes instead of %zu", len, size);
	return perf_check_bytes(layer->name, slot->mem, len, seq, "message");
}

int perf_check_slot(struct perf_slot *slot, size_t len)
{
	int ret;

	if (slot->queue == PERF_TX && perf_atomic(slot->hub->dev->c->op))
		return check_fetched(slot);
	if (slot->queue == PERF_TX)
		return perf_check_bytes(slot->hub->layer->name, slot->mem, slot->hub->dev->c->size,
					(uint64_t)(slot - slot->side->tx.slot), "read from place");
	ret = check_message(slot, len);
	/* clear it, so that it cannot pass for the next message */
	memset(slot->mem, 0xa5, len);
	slot_reset(slot);
	return ret;
}

/* Each buffer must hold the last write to it. */
static int check_side(struct perf_side *s)
{
	uint64_t window = (uint64_t)s->hub->dev->c->window;
	uint64_t place, last;
	int ret = 0;

	for (place = 0; !ret && place < window && place < s->written; place++) {
		last = (s->written - 1 - place) / window * window + place;
		ret = perf_check_bytes(s->layer->name, s->target + place * s->hub->stride,
				       s->hub->dev->c->size, last, "write");
	}
	return ret;
}

int perf_check_written(struct perf_hub *hub)
{
	int i, ret = 0;

	for (i = 0; !ret && i < hub->sides; i++)
		ret = check_side(hub->side[i]);
	return ret;
}

/* The last byte is the number of the turn, which has been checked. */
int perf_check_turn(struct perf_side *s)
{
	return perf_check_bytes(s->layer->name, s->target, s->hub->dev->c->size - 1, s->turn,
				"write");
}
