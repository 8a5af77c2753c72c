/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the fixture of the cases of collectives. */
#include "coll_rig.h"

DAT_HANDLE ev_coll(const char *file, int line, DAT_EVD_HANDLE evd, DAT_IB_EXT_TYPE type,
		   DAT_IB_STATUS status, uint64_t context, uint32_t us)
{
	DAT_IB_EXTENSION_EVENT_DATA x;
	DAT_COUNT more;
	DAT_EVENT ev;

	memset(&ev, 0xa5, sizeof(ev));
	check_ret(file, line, "dat_evd_wait", dat_evd_wait(evd, us * dt_slow(), 1, &ev, &more),
		  DAT_SUCCESS);
	memcpy(&x, ev.event_extension_data, sizeof(x));
	if ((int)ev.event_number != DAT_IB_COLLECTIVE_EVENT || ev.evd_handle != evd)
		dt_fail(file, line, "event %#x of EVD %p, expected one of a collective of %p",
			(unsigned int)ev.event_number, ev.evd_handle, evd);
	if (x.type != type || x.status != status)
		dt_fail(file, line, "type %d status %d, expected %d %d", (int)x.type, (int)x.status,
			(int)type, (int)status);
	if (x.coll.context.as_64 != context)
		dt_fail(file, line, "context %llu, expected %llu",
			(unsigned long long)x.coll.context.as_64, (unsigned long long)context);
	return x.coll.handle;
}

void crew_open(struct crew *c, unsigned int size, unsigned int nodes)
{
	memset(c, 0, sizeof(*c));
	c->size = size;
	c->nodes = nodes;
	for (unsigned int i = 0; i < nodes; i++)
		node_open(&c->node[i]);
	for (unsigned int i = 0; i < size; i++) {
		struct mate *m = &c->mate[i];

		m->node = &c->node[i % nodes];
		m->evd = evd_make(m->node, 8, DAT_IB_EVD_EXTENSION_FLAG);
		OK(dat_ib_collective_create_member(m->node->ia, NULL, &m->member, &m->member_size));
		ASSERT(m->member && m->member_size > 0);
		c->members[i] = m->member;
	}
}

DAT_RETURN crew_create(struct crew *c, unsigned int rank, unsigned int id, uint64_t context)
{
	const struct mate *m = &c->mate[rank];

	return dat_ib_collective_create_group(c->members, (DAT_COUNT)c->size, rank, id, NULL,
					      m->evd, m->node->pz, ctx(context));
}

void crew_group(struct crew *c, unsigned int id)
{
	for (unsigned int i = 0; i < c->size; i++)
		OK(crew_create(c, i, id, 100 + i));
	for (unsigned int i = 0; i < c->size; i++) {
		c->mate[i].group = EV_COLL(c->mate[i].evd, CREATE_DATA, 100 + i);
		ASSERT(c->mate[i].group);
	}
}

void crew_free_groups(struct crew *c)
{
	for (unsigned int i = 0; i < c->size; i++)
		OK(dat_ib_collective_free_group(c->mate[i].group));
}

void crew_close(struct crew *c)
{
	for (unsigned int i = 0; i < c->size; i++) {
		struct mate *m = &c->mate[i];

		EV_EMPTY(m->evd);
		OK(dat_ib_collective_free_member(m->node->ia, m->member));
		OK(dat_evd_free(m->evd));
	}
	for (unsigned int i = 0; i < c->nodes; i++)
		node_close(&c->node[i]);
}

void crew_up(struct crew *c, unsigned int size, unsigned int nodes)
{
	crew_open(c, size, nodes);
	crew_group(c, 1);
}

void crew_down(struct crew *c)
{
	crew_free_groups(c);
	crew_close(c);
}
