/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests where frames are in a ring: short messages return to its beginning early. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shm_rig.h"

#define NEAR (128u << 10)
#define ROUND (1u << 20) /* DAPL_OFI_SHM_RING_KIB */
#define LEN 64
#define FRAME 128 /* of such a message */

static char from[LEN], to[LEN];

static void message(struct side *s, struct fid_ep *ep[2])
{
	from[0]++;
	ASSERT_EQ(post_recv(ep[1], to, LEN, to), 0);
	ASSERT_EQ(post_send(ep[0], from, LEN, to), 0);
	ASSERT_EQ(side_await(s, to), 0);
	ASSERT_EQ(side_await(s, to), 0);
	ASSERT_MEM(to, from, LEN);
}

/* Bytes of memory that the rings of this process occupy. */
static size_t occupied(void)
{
	static unsigned char resident[ROUND];
	FILE *f = fopen("/proc/self/maps", "re");
	size_t begin, end, sum = 0;
	char line[256];

	ASSERT(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "memfd:dat-ofi") || sscanf(line, "%zx-%zx", &begin, &end) != 2)
			continue;
		ASSERT_EQ(mincore((void *)begin, end - begin, resident), 0);
		for (size_t i = 0; i < (end - begin) / 4096; i++)
			sum += resident[i] & 1 ? 4096 : 0;
	}
	fclose(f);
	return sum;
}

TEST(shm_ring, short_messages_occupy_its_beginning)
{
	struct fid_ep *ep[2];
	struct side s;

	side_open(&s);
	pair_open(&s, ep);
	for (unsigned int i = 0; i < 4 * ROUND / FRAME; i++)
		message(&s, ep);
	/* Both ends map the memory. */
	ASSERT(occupied() / 2 <= NEAR + NEAR / 4 + 8192);
	pair_close(&s, ep);
	side_close(&s);
}

TEST(shm_ring, rounds_of_short_and_of_long_messages_follow_each_other)
{
	struct fid_ep *ep[2];
	struct side s;

	side_open(&s);
	pair_open(&s, ep);
	for (int i = 0; i < 10; i++) {
		for (unsigned int k = 0; k < 3 * NEAR / FRAME; k++)
			message(&s, ep);
		pair_check(&s, ep);
	}
	pair_close(&s, ep);
	side_close(&s);
}

TEST(shm_ring, a_skip_leads_to_its_beginning)
{
	struct msgep_frame f = {
		.kind = MSGEP_MSG, .flags = MSGEP_FIRST | MSGEP_LAST, .len = LEN, .total = LEN
	};
	struct msgep_frame skip = { .kind = SKIP, .len = RING - FRAME - sizeof(f) };
	struct side s;
	struct foe foe;

	side_open(&s);
	ASSERT_EQ(foe_open(&foe, &s, NULL), 0);
	for (int i = 0; i < 3; i++) {
		memset(from, i + 1, LEN);
		ASSERT_EQ(post_recv(foe.ep, to, LEN, to), 0);
		foe_put(&foe, MSGEP_REQ, &f, from, LEN);
		ASSERT_EQ(side_await(&s, to), 0);
		ASSERT_MEM(to, from, LEN);
		foe_put(&foe, MSGEP_REQ, &skip, NULL, 0);
		foe.pos[MSGEP_REQ] = (uint64_t)(i + 1) * RING;
		side_work(&s);
		ASSERT_EQ(atomic_load(&foe.control[0].head[MSGEP_REQ]), (uint64_t)(i + 1) * RING);
	}
	foe_close(&foe);
	side_close(&s);
}
