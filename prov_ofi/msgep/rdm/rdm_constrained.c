/* SPDX-License-Identifier: BSD-2-Clause */
/* Imitates a fabric that promises little, for tests.
 *
 * For tests only: the fabric "constrained", or DAPL_OFI_TEST_CONSTRAIN=efa[:SEED], makes an inner
 * provider of software behave as badly as efa may; with shuffle[:SEED] instead, messages may be of
 * any length, so there are bulk cells. Of libfabric's efa, this is copied:
 *
 *   prov/efa/src/rxr/rxr_cq.c (1.17.0), rxr_cq_open: no wait object
 *   prov/efa/src/efa_prov_info.c (2.6.0): of the provider's plain endpoint, efa-direct,
 *     mr_mode FI_MR_LOCAL with virtual addresses, allocated memory and provider keys; msg_order 0
 *     (EFA_MSG_ORDER); messages of one packet, max_msg_size = the port's max_msg_sz, here 8 KiB;
 *     FI_CONTEXT2. cq_data_size 4 (EFA_CQ_DATA_SIZE), small inject_size, one segment: the cells
 *     use neither completion data nor inject nor lists, so nothing is left to mask.
 *
 * So cells are registered and their descriptors are passed, although the inner provider does not
 * look at them; they arrive in random order, some much later than others; and a send is sometimes
 * refused for want of room. This is no proof that real hardware works.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/env.h"
#include "msgep/rdm/rdm.h"

#define VARIABLE "DAPL_OFI_TEST_CONSTRAIN"
#define ROW "constrained"
#define PACKET 8192
/* A cell is handed on after this many polls at the latest. */
#define AGE_MAX 3

bool wfab_test_asked(const struct dofi_fab *fab)
{
	const char *value = dofi_env_secure(VARIABLE);

	return !strcmp(fab->row->name, ROW) ||
	       (value && (!strncmp(value, "efa", 3) || !strncmp(value, "shuffle", 7)));
}

/* As a consumer of efa would ask; software providers drop what they do not need. */
void wfab_test_hints(struct fi_info *hints)
{
	hints->tx_attr->msg_order = 0;
	hints->rx_attr->msg_order = 0;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
}

void wfab_test_start(struct wfab *net)
{
	const char *value = dofi_env_secure(VARIABLE);
	const char *seed = value ? strchr(value, ':') : NULL;
	struct wfab_shake *shake = &net->shake;

	shake->on = true;
	if (seed)
		shake->seed = strtoull(seed + 1, NULL, 0);
	else if (getrandom(&shake->seed, sizeof(shake->seed), 0) < 0)
		shake->seed = 1;
	shake->state = shake->seed ? shake->seed : 1;
	net->register_cells = true;
	if (!value || strncmp(value, "shuffle", 7)) {
		net->info->ep_attr->max_msg_size = PACKET;
		if (net->cell_size > PACKET)
			net->cell_size = PACKET;
	}
	dofi_log(DOFI_LOG_INFO, "%s: seed %#llx", VARIABLE, (unsigned long long)shake->seed);
}

static uint32_t roll(struct wfab_shake *shake, uint32_t n)
{
	shake->state ^= shake->state << 13;
	shake->state ^= shake->state >> 7;
	shake->state ^= shake->state << 17;
	return (uint32_t)(shake->state >> 32) % n;
}

static void let_go(struct wfab *net, uint32_t i)
{
	struct wfab_shake *shake = &net->shake;
	struct wfab_cell *cell = shake->cell[i];

	shake->count--;
	shake->cell[i] = shake->cell[shake->count];
	shake->age[i] = shake->age[shake->count];
	wfab_arrive(net, cell);
}

void wfab_test_hold(struct wfab *net, struct wfab_cell *cell)
{
	struct wfab_shake *shake = &net->shake;

	if (shake->count == WFAB_SHAKE_MAX)
		let_go(net, roll(shake, shake->count));
	shake->cell[shake->count] = cell;
	shake->age[shake->count++] = 0;
}

void wfab_test_deliver(struct wfab *net)
{
	struct wfab_shake *shake = &net->shake;
	uint32_t i = 0;

	/* shuffle, then most of them in that order */
	for (uint32_t k = shake->count; k > 1; k--) {
		uint32_t j = roll(shake, k);
		struct wfab_cell *cell = shake->cell[k - 1];
		uint8_t age = shake->age[k - 1];

		shake->cell[k - 1] = shake->cell[j];
		shake->age[k - 1] = shake->age[j];
		shake->cell[j] = cell;
		shake->age[j] = age;
	}
	while (i < shake->count) {
		if (shake->age[i] < AGE_MAX && !roll(shake, 4)) {
			shake->age[i++]++;
			continue;
		}
		let_go(net, i);
	}
}

bool wfab_test_refuse(struct wfab *net)
{
	return !roll(&net->shake, 16);
}
