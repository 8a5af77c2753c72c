/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests memory and connection parameters that no valid peer sends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm_rig.h"

struct spoilt {
	const char *name;
	void (*spoil)(struct shm_params *o);
};

static void magic(struct shm_params *o)
{
	o->magic ^= 1;
}

static void version(struct shm_params *o)
{
	o->version++;
}

static void too_short(struct shm_params *o)
{
	o->len--;
}

static void too_long(struct shm_params *o)
{
	o->len++;
}

static void empty(struct shm_params *o)
{
	o->len = 0;
}

static void no_size(struct shm_params *o)
{
	o->size = 0;
}

static void odd_size(struct shm_params *o)
{
	o->size = RING + 64;
}

static void tiny(struct shm_params *o)
{
	o->size = 2048;
	o->mem = 4096 + 4 * 2048;
}

static void huge(struct shm_params *o)
{
	o->size = 1u << 31;
}

static void wraps(struct shm_params *o)
{
	o->size = 1u << 30;
	o->mem = 4096;
}

static void cut_short(struct shm_params *o)
{
	o->mem -= 4096;
}

static void larger(struct shm_params *o)
{
	o->mem += 4096;
}

static void unsealed(struct shm_params *o)
{
	o->seals = 0;
}

static void can_shrink(struct shm_params *o)
{
	o->seals = F_SEAL_GROW | F_SEAL_SEAL;
}

static void can_grow(struct shm_params *o)
{
	o->seals = F_SEAL_SHRINK | F_SEAL_SEAL;
}

static void no_memory(struct shm_params *o)
{
	o->no_fd = true;
}

/* clang-format off */
static const struct spoilt spoilt[] = {
	{ "magic", magic }, { "version", version }, { "too_short", too_short },
	{ "too_long", too_long }, { "empty", empty }, { "no_size", no_size },
	{ "odd_size", odd_size }, { "tiny", tiny }, { "huge", huge }, { "wraps", wraps },
	{ "cut_short", cut_short }, { "larger", larger }, { "unsealed", unsealed },
	{ "can_shrink", can_shrink }, { "can_grow", can_grow }, { "no_memory", no_memory },
};
/* clang-format on */

/* It is rejected and receives the reason; other clients are served as before. */
static void refused(const void *arg)
{
	const struct spoilt *how = arg;
	struct shm_params params = foe_params();
	struct fid_ep *pair[2];
	uint8_t buf[MSGEP_CM_MAX];
	struct msgep_cm_msg msg;
	struct side s;
	struct foe f;
	ssize_t n;

	side_open(&s);
	pair_open(&s, pair);
	how->spoil(&params);
	ASSERT(foe_open(&f, &s, &params) < 0);
	n = recv(f.sock, buf, sizeof(buf), 0);
	ASSERT(n > 0 && !msgep_cm_parse(buf, (size_t)n, &msg));
	ASSERT_EQ(msg.kind, MSGEP_CM_REJECT);
	foe_close(&f);
	pair_check(&s, pair);
	pair_close(&s, pair);
	side_close(&s);
}

TEST_ROWS(shm_bad_params, spoilt, refused)

/* Sealed memory cannot be truncated by the peer. */
TEST(shm_memory, cannot_be_cut_short_or_unsealed)
{
	struct side s;
	struct foe f;

	side_open(&s);
	ASSERT_EQ(foe_open(&f, &s, NULL), 0);
	ASSERT(ftruncate(f.fd, 4096) < 0 && errno == EPERM);
	ASSERT(fcntl(f.fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
	foe_close(&f);
	side_close(&s);
}

#define LARGE 20000

/* Starts a process that has other bytes at the address of `bait`. */
static pid_t bystander(char *bait)
{
	int ready[2];
	pid_t pid;
	char c;

	ASSERT(!pipe(ready));
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		memset(bait, 'x', LARGE);
		c = 0;
		if (write(ready[1], &c, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	ASSERT_EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* The PID of another process: its memory must not be fetched. */
TEST(shm_pid, of_another_process_is_not_believed)
{
	static char bait[LARGE], to[LARGE];
	struct shm_params params = foe_params();
	struct msgep_segment where = { (uintptr_t)bait, sizeof(bait) };
	struct msgep_frame frame = { .kind = MSGEP_MSG,
				     .total = sizeof(bait),
				     .segments = 1,
				     .len = sizeof(where),
				     .flags = MSGEP_FIRST | MSGEP_LAST | MSGEP_PULL |
					      MSGEP_WANTS_ACK };
	struct side s;
	struct foe f;
	pid_t other;

	memset(bait, 'b', sizeof(bait));
	other = bystander(bait);
	side_open(&s);
	params.pid = (uint64_t)other;
	ASSERT_EQ(foe_open(&f, &s, &params), 0);
	if (!atomic_load(&f.control[0].pulls))
		dt_note("the kernel does not permit CMA, or is slow at it");
	ASSERT_EQ(post_recv(f.ep, to, sizeof(to), to), 0);
	foe_put(&f, MSGEP_REQ, &frame, &where, sizeof(where));
	if (atomic_load(&f.control[0].pulls)) {
		ASSERT_EQ(side_await(&s, to), 0);
		ASSERT_MEM(to, bait, sizeof(to));
		ASSERT_EQ(atomic_load(&f.control[0].done), 1);
	} else {
		side_await_end(&s, f.ep);
	}
	foe_close(&f);
	side_close(&s);
	kill(other, SIGKILL);
	ASSERT_EQ(waitpid(other, NULL, 0), other);
}

/* Without the proof nothing is fetched, whatever the shared memory contains. */
TEST(shm_proof, that_is_wrong_means_no_pulling)
{
	static char bait[LARGE], to[LARGE];
	struct shm_params params = foe_params();
	struct msgep_segment where = { (uintptr_t)bait, sizeof(bait) };
	struct msgep_frame frame = { .kind = MSGEP_MSG,
				     .total = sizeof(bait),
				     .segments = 1,
				     .len = sizeof(where),
				     .flags = MSGEP_FIRST | MSGEP_LAST | MSGEP_PULL |
					      MSGEP_WANTS_ACK };
	struct fid_ep *pair[2];
	struct side s;
	struct foe f;

	memset(bait, 'b', sizeof(bait));
	side_open(&s);
	pair_open(&s, pair);
	params.proof++;
	ASSERT_EQ(foe_open(&f, &s, &params), 0);
	ASSERT(!atomic_load(&f.control[0].pulls));
	atomic_store(&f.control[0].pulls, 1);
	ASSERT_EQ(post_recv(f.ep, to, sizeof(to), to), 0);
	foe_put(&f, MSGEP_REQ, &frame, &where, sizeof(where));
	side_await_end(&s, f.ep);
	for (size_t i = 0; i < sizeof(to); i++)
		ASSERT(!to[i]);
	foe_close(&f);
	pair_check(&s, pair);
	pair_close(&s, pair);
	side_close(&s);
}
