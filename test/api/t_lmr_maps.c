/* SPDX-License-Identifier: BSD-2-Clause */
/* Registering memory of several mappings: where the kernel answers for one address (Linux 6.11 and
 * later), and where the list of mappings has to be read. */
#include "rig.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGE ((size_t)4096)
#define PROCMAP_QUERY 0xc0686611u /* _IOWR('f', 17, 104 bytes) */

/* Makes the kernel refuse the query in this process, as one that does not know it. */
static bool refuse_queries(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCMAP_QUERY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static DAT_RETURN reg(struct node *n, void *mem, size_t len, int priv)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN ret;

	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	ret = api_lmr_create(n->ia, DAT_MEM_TYPE_VIRTUAL, region, len, n->pz,
			     (DAT_MEM_PRIV_FLAGS)priv, &lmr, &context, &key, NULL, NULL);
	if (!ret)
		OK(dat_lmr_free(lmr));
	return ret;
}

/* Five pages in a wide hole: writable, read-only, writable, none, writable. */
static void check_mappings(void)
{
	const size_t hole = (size_t)1 << 30;
	struct node n;
	char *mem;

	node_open(&n);
	mem = mmap(NULL, hole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT(mem != MAP_FAILED);
	ASSERT_EQ(mprotect(mem + PAGE, PAGE, PROT_READ), 0);
	ASSERT_EQ(munmap(mem + 3 * PAGE, PAGE), 0);
	ASSERT_EQ(munmap(mem + 5 * PAGE, hole - 5 * PAGE), 0);
	OK(reg(&n, mem, PAGE, PRIV_LOCAL));
	OK(reg(&n, mem, 3 * PAGE, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	OK(reg(&n, mem + 2 * PAGE, PAGE, PRIV_LOCAL));
	OK(reg(&n, mem + 4 * PAGE + 1, PAGE - 1, PRIV_LOCAL));
	ASSERT_EQ(DAT_GET_TYPE(reg(&n, mem, PAGE + 1, PRIV_LOCAL)), DAT_PRIVILEGES_VIOLATION);
	ASSERT_EQ(DAT_GET_TYPE(reg(&n, mem, 3 * PAGE, PRIV_LOCAL)), DAT_PRIVILEGES_VIOLATION);
	ASSERT_EQ(DAT_GET_TYPE(reg(&n, mem + 2 * PAGE, PAGE + 1, PRIV_LOCAL)),
		  DAT_PROTECTION_VIOLATION);
	ASSERT_EQ(DAT_GET_TYPE(reg(&n, mem + 2 * PAGE, 3 * PAGE, DAT_MEM_PRIV_LOCAL_READ_FLAG)),
		  DAT_PROTECTION_VIOLATION);
	ASSERT_EQ(DAT_GET_TYPE(reg(&n, mem + 3 * PAGE, PAGE, PRIV_LOCAL)),
		  DAT_PROTECTION_VIOLATION);
	/* A mapping that is made later is found. */
	ASSERT(mmap(mem + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem + 3 * PAGE);
	OK(reg(&n, mem + 2 * PAGE, 3 * PAGE, PRIV_LOCAL));
	ASSERT_EQ(munmap(mem, 5 * PAGE), 0);
	node_close(&n);
}

TEST(lmr_maps, regions_of_several_mappings)
{
	check_mappings();
}

TEST(lmr_maps, regions_of_several_mappings_without_queries_to_the_kernel)
{
	if (!refuse_queries())
		dt_skip("the kernel takes no filter of system calls");
	check_mappings();
}
