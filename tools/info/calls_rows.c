/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of dat_info --calls: the calls that libdat exports, the operations of the extension, and
 * the uses that a page restricts. Which of them work is not stated here: the provider answers that,
 * and this file has the reasons that the pages give for what it lacks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "memory.h"
#include "tools/info/call_names.h"

#define NAMED "named attributes"
#define PROV "provider"
#define IA "adapter"

#define UNSUPPORTED "DAT_MODEL_NOT_SUPPORTED"
#define NOT_IMPLEMENTED "DAT_NOT_IMPLEMENTED"

/* clang-format off */
#define NO_ATOMIC \
	"the device has no atomic operations, or libfabric before 2.2 does not carry their " \
	"operands where pointers have 32 bits"

static const struct info_restriction restrictions[] = {
	{ "dat_ep_connect", "with a class of quality of service", false, UNSUPPORTED,
	  PROV, "dat_qos_supported", "best-effort",
	  "libfabric passes classes neither to RDMA devices nor to the sockets of rxm",
	  "dat_ep_connect(3), docs/restrictions.md" },
	{ "dat_ep_connect", "with a multipath flag", false, UNSUPPORTED,
	  PROV, "supports_multipath", "false",
	  "an endpoint belongs to one adapter, the call names one remote address, and a connected "
	  "endpoint of libfabric has one address at each side",
	  "dat_ep_connect(3), docs/restrictions.md" },
	{ "dat_ep_create", "for datagrams", true, UNSUPPORTED,
	  NAMED, "DAT_IB_UD", "FALSE",
	  "datagrams carry no proof of the secret that DAPL_OFI_CM_SECRET_FILE sets",
	  "dat_ep_create(3), docs/restrictions.md" },
	{ .call = "dat_ep_post_send_with_invalidate", .use = "to a peer with an SRQ",
	  .only_20 = true },
	{ .call = "dat_lmr_create", .use = "of another LMR" },
	{ .call = "dat_lmr_create", .use = "of shared memory" },
	{ .call = "dat_lmr_create", .use = "for atomic operations", .only_20 = true },
	{ "dat_lmr_create", "zero-based, for peers", true, UNSUPPORTED,
	  IA, "zb_supported", "false",
	  "libfabric registers memory of a device at its virtual address",
	  "dat_lmr_create(3), docs/restrictions.md" },
	{ "dat_ib_post_cmp_and_swap", NULL, true, NOT_IMPLEMENTED,
	  NAMED, "DAT_IB_CMP_AND_SWAP", "FALSE",
	  NO_ATOMIC, "dat_ib_post_fetch_and_add(3), docs/restrictions.md" },
	{ "dat_ib_post_fetch_and_add", NULL, true, NOT_IMPLEMENTED,
	  NAMED, "DAT_IB_FETCH_AND_ADD", "FALSE",
	  NO_ATOMIC, "dat_ib_post_fetch_and_add(3), docs/restrictions.md" },
	{ .call = "dat_ib_post_rdma_write_immed", .use = "to a peer with an SRQ", .only_20 = true },
	{ .call = "dat_ib_start_counter", .use = "of the device", .only_20 = true },
	{ .call = "dat_ib_start_counter", .use = "of the link", .only_20 = true },
	{ .call = "dat_ib_stop_counter", .use = "of the device", .only_20 = true },
	{ .call = "dat_ib_stop_counter", .use = "of the link", .only_20 = true },
};
/* clang-format on */
#define NUM_RESTRICTIONS (sizeof(restrictions) / sizeof(*restrictions))

static bool same_use(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

const struct info_restriction *info_restriction_find(const char *call, const char *use)
{
	for (size_t i = 0; i < NUM_RESTRICTIONS; i++)
		if (restrictions[i].result && !strcmp(restrictions[i].call, call) &&
		    same_use(restrictions[i].use, use))
			return &restrictions[i];
	return NULL;
}

bool info_restriction_applies(const struct info_restriction *restriction,
			      const struct info_probe *probe, bool unknown)
{
	const char *value;

	if (!restriction->attribute)
		return unknown;
	value = info_probe_fact(probe, restriction->group, restriction->attribute);
	return value && !strcmp(value, restriction->value);
}

/* ---- rows ---- */

static struct info_call *row_add(struct info_call **rows, size_t *num, const char *name,
				 const char *use)
{
	struct info_call *row;

	*rows = info_realloc(*rows, *num + 1, sizeof(**rows));
	row = &(*rows)[(*num)++];
	memset(row, 0, sizeof(*row));
	row->name = info_strdup(name);
	row->use = use ? info_strdup(use) : NULL;
	return row;
}

static bool in_list(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static void rows_add_call(struct info_call **rows, size_t *num, const char *name, bool in_12)
{
	struct info_call *row = row_add(rows, num, name, NULL);

	row->has[0] = in_12;
	row->has[1] = true;
	for (size_t i = 0; i < NUM_RESTRICTIONS; i++) {
		if (strcmp(restrictions[i].call, name) || !restrictions[i].use)
			continue;
		row = row_add(rows, num, name, restrictions[i].use);
		row->has[0] = in_12 && !restrictions[i].only_20;
		row->has[1] = true;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct info_call *info_call_rows(size_t *num)
{
#define X(name) #name,
	static const char *const in_12[] = { INFO_CALLS_12(X) NULL };
	static const char *in_20[] = { INFO_CALLS_20(X) NULL };
	static const char *const extension[] = { INFO_CALLS_IB(X) NULL };
#undef X
	struct info_call *rows = NULL;

	*num = 0;
	/* The version scripts list them by the version in which they appeared. */
	qsort(in_20, sizeof(in_20) / sizeof(*in_20) - 1, sizeof(*in_20), by_name);
	for (const char *const *name = in_20; *name; name++)
		rows_add_call(&rows, num, *name, in_list(in_12, *name));
	for (const char *const *name = extension; *name; name++)
		rows_add_call(&rows, num, *name, false);
	return rows;
}

void info_call_rows_free(struct info_call *rows, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		free(rows[i].name);
		free(rows[i].use);
	}
	free(rows);
}
