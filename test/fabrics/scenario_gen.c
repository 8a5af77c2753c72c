/* SPDX-License-Identifier: BSD-2-Clause */
/* Generates the list of steps from a seed. */
#include <string.h>

#include "scenario.h"

const char *sc_act_name(enum sc_act act)
{
	static const char *const names[] = {
#define X(name) #name,
		SC_ACTS(X)
#undef X
	};

	return names[act];
}

uint32_t sc_below(uint64_t *seed, uint32_t n)
{
	return rl_random(seed) % n;
}

static bool chance(uint64_t *seed, uint32_t percent)
{
	return sc_below(seed, 100) < percent;
}

/* As many small as large ones, and occasionally zero. */
size_t sc_size(uint64_t *seed, size_t most)
{
	static const size_t classes[] = { 1, 2, 64, 256, 4096, 20000, 70000, (size_t)1 << 19 };
	size_t top = classes[sc_below(seed, sizeof(classes) / sizeof(classes[0]))];
	size_t size = sc_below(seed, (uint32_t)top);

	return size < most ? size : most;
}

void sc_piece(uint64_t *seed, const struct sc_scene *scene, size_t most, struct sc_piece *piece)
{
	piece->len = sc_size(seed, most);
	piece->room = piece->len + (chance(seed, 50) ? 0 : sc_below(seed, 300));
	piece->from = 1 + (int)sc_below(seed, SC_SEGMENTS);
	piece->to = 1 + (int)sc_below(seed, SC_SEGMENTS);
	piece->flags = DAT_COMPLETION_DEFAULT_FLAG;
	if (chance(seed, 20))
		piece->flags |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	if (chance(seed, 25))
		piece->flags |= DAT_COMPLETION_SUPPRESS_FLAG;
	else if (chance(seed, 40) && scene->unsignalled)
		piece->flags |= DAT_COMPLETION_UNSIGNALLED_FLAG;
}

struct maker {
	struct sc_scene *scene;
	uint64_t seed;
	bool up[SC_EPS];
	bool spread; /* there is a step that checks the order across endpoints */
};

static struct sc_step *add(struct maker *m, enum sc_act act, int ep)
{
	struct sc_step *step = &m->scene->step[m->scene->steps++];

	memset(step, 0, sizeof(*step));
	step->act = act;
	step->ep = ep;
	step->by = (int)sc_below(&m->seed, 2);
	step->graceful = chance(&m->seed, 50);
	step->seed = (uint64_t)rl_random(&m->seed) << 32 | rl_random(&m->seed);
	return step;
}

static void renew(struct maker *m, int ep)
{
	add(m, chance(&m->seed, 75) ? SC_RESET : SC_RENEW, ep);
}

static void connect_ep(struct maker *m, int ep)
{
	static const enum sc_act failures[] = { SC_REJECT, SC_WRONG_QUAL, SC_GIVE_UP, SC_REJECT,
						SC_NO_ANSWER };
	struct sc_step *step;

	if (chance(&m->seed, 30)) {
		step = add(m, failures[sc_below(&m->seed, 5)], ep);
		step->before[step->by] = m->scene->srq[step->by] ? 0 : (int)sc_below(&m->seed, 4);
		renew(m, ep);
	}
	step = add(m, chance(&m->seed, 15) ? SC_SP_GONE : SC_CONNECT, ep);
	m->up[ep] = true;
	if (!chance(&m->seed, 40))
		return;
	/* These receives are used at once, or flushed by an end that comes at once. */
	for (int side = 0; side < 2; side++)
		if (!m->scene->srq[side])
			step->before[side] = (int)sc_below(&m->seed, 4);
	if (chance(&m->seed, 40)) {
		struct sc_step *end = add(m, SC_FREE, ep);

		/* What is outstanding on a freed endpoint may complete or not. */
		if (step->before[end->by])
			end->act = SC_DISCONNECT;
		m->up[ep] = false;
		renew(m, ep);
		return;
	}
	for (int side = 0; side < 2; side++) {
		struct sc_step *use;

		if (!step->before[side])
			continue;
		use = add(m, SC_SEND, ep);
		use->by = !side;
		use->posted = true;
		use->before[side] = step->before[side];
	}
}

static void transfer(struct maker *m, int ep)
{
	static const enum sc_act acts[] = { SC_SEND,  SC_SEND, SC_LATE_RECV, SC_BOTH,
					    SC_WRITE, SC_READ, SC_MIXED,     SC_BAD_POST };

	add(m, acts[sc_below(&m->seed, sizeof(acts) / sizeof(acts[0]))], ep);
}

static void end_ep(struct maker *m, int ep)
{
	static const enum sc_act acts[] = { SC_TOO_LONG,  SC_BAD_KEY,    SC_RANGE,      SC_NO_RIGHT,
					    SC_FREED_KEY, SC_DISCONNECT, SC_DISCONNECT, SC_DRAIN,
					    SC_UNMATCHED, SC_FREE };
	enum sc_act act = acts[sc_below(&m->seed, sizeof(acts) / sizeof(acts[0]))];

	add(m, act, ep);
	m->up[ep] = false;
	renew(m, ep);
}

static int ups(const struct maker *m)
{
	int n = 0;

	for (int ep = 0; ep < m->scene->eps; ep++)
		n += m->up[ep];
	return n;
}

/* Once at least in each scenario with several endpoints, when two of them are connected. */
static void spread(struct maker *m)
{
	if (ups(m) < 2 || (m->spread && !chance(&m->seed, 15)))
		return;
	add(m, SC_SPREAD, 0);
	m->spread = true;
}

static void spread_for_certain(struct maker *m)
{
	for (int ep = 0; ep < m->scene->eps && !m->spread; ep++)
		if (!m->up[ep]) {
			add(m, SC_CONNECT, ep);
			m->up[ep] = true;
			spread(m);
		}
}

void sc_make(struct sc_scene *scene, unsigned int number)
{
	struct maker m = { .scene = scene, .seed = number * 0x9e3779b97f4a7c15u + 1 };
	int goal = 0;

	memset(scene, 0, sizeof(*scene));
	for (int i = 0; i < 8; i++)
		(void)rl_random(&m.seed);
	scene->number = number;
	scene->eps = 1 + (int)sc_below(&m.seed, SC_EPS);
	scene->wait = (enum sc_wait)sc_below(&m.seed, SC_WAITS);
	scene->merged = chance(&m.seed, 25);
	scene->unsignalled = !scene->merged && chance(&m.seed, 30);
	for (int side = 0; side < 2; side++) {
		scene->srq[side] = chance(&m.seed, 25);
		scene->solicited[side] = !scene->merged && chance(&m.seed, 20);
	}
	/* A step of this loop adds at most five; the end adds one per endpoint and two. */
	goal = 12 + (int)sc_below(&m.seed, 24);
	while (scene->steps < goal && scene->steps < SC_STEPS - 16) {
		int ep = (int)sc_below(&m.seed, (uint32_t)scene->eps);

		if (!m.up[ep])
			connect_ep(&m, ep);
		else if (chance(&m.seed, 70))
			transfer(&m, ep);
		else
			end_ep(&m, ep);
		spread(&m);
	}
	spread_for_certain(&m);
	if (chance(&m.seed, 40)) {
		add(&m, chance(&m.seed, 60) ? SC_KILL : SC_CLOSE, 0);
		return;
	}
	for (int ep = 0; ep < scene->eps; ep++)
		if (m.up[ep])
			end_ep(&m, ep);
}
