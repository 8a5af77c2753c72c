/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the fixture of the cases of collectives: members in one process, over one or several
 * IAs. */
#ifndef TEST_COLL_RIG_H
#define TEST_COLL_RIG_H

#include "ext.h"

#define CREW_MOST 17
#define CREW_NODES 4
/* Longer than a group may take to notice that a member has died. */
#define US_GROUP 20000000u

struct mate {
	struct node *node;
	DAT_EVD_HANDLE evd;
	DAT_IB_COLLECTIVE_MEMBER member;
	DAT_COUNT member_size;
	DAT_IB_COLLECTIVE_HANDLE group;
};

struct crew {
	unsigned int size, nodes;
	struct node node[CREW_NODES];
	struct mate mate[CREW_MOST];
	DAT_IB_COLLECTIVE_MEMBER members[CREW_MOST];
};

/* `nodes` IAs, `size` members on them. */
void crew_open(struct crew *c, unsigned int size, unsigned int nodes);
/* The call of one member. */
DAT_RETURN crew_create(struct crew *c, unsigned int rank, unsigned int id, uint64_t context);
/* All create a group, and have its event. */
void crew_group(struct crew *c, unsigned int id);
void crew_free_groups(struct crew *c);
/* Frees members and IAs, gracefully. */
void crew_close(struct crew *c);
/* The three above that make a group. */
void crew_up(struct crew *c, unsigned int size, unsigned int nodes);
void crew_down(struct crew *c);

static inline DAT_CONTEXT ctx(uint64_t value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

/* Waits for an event of a collective and checks all its fields. Returns its handle. */
DAT_HANDLE ev_coll(const char *file, int line, DAT_EVD_HANDLE evd, DAT_IB_EXT_TYPE type,
		   DAT_IB_STATUS status, uint64_t context, uint32_t us);
#define EV_COLL(evd_, type_, context_) \
	ev_coll(__FILE__, __LINE__, evd_, DAT_IB_COLLECTIVE_##type_, DAT_OP_SUCCESS, context_, \
		US_GROUP)
#define EV_COLL_FAILED(evd_, type_, context_) \
	ev_coll(__FILE__, __LINE__, evd_, DAT_IB_COLLECTIVE_##type_, DAT_IB_COLL_COMP_ERR, \
		context_, US_GROUP)

#endif
