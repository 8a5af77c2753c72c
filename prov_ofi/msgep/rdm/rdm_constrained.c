/* SPDX-License-Identifier: BSD-2-Clause */
/* Imitates a fabric that promises little, for tests.
 *
 * For tests only: the fabric "constrained", or DAPL_OFI_TEST_CONSTRAIN=efa[:SEED], makes an inner
 * provider of software behave as badly as efa may; with shuffle[:SEED] instead, messages may be of
 * any length, so there are large packets. Of libfabric's efa, this is copied:
 *
 *   prov/efa/src/rxr/rxr_cq.c (1.17.0), rxr_cq_open: no wait object
 *   prov/efa/src/efa_prov_info.c (2.6.0): of the provider's plain endpoint, efa-direct,
 *     mr_mode FI_MR_LOCAL with virtual addresses, allocated memory and provider keys; msg_order 0
 *     (EFA_MSG_ORDER); messages of one packet, max_msg_size = the port's max_msg_sz, here 8 KiB;
 *     FI_CONTEXT2. cq_data_size 4 (EFA_CQ_DATA_SIZE), small inject_size, one segment: the packets
 *     use neither completion data nor inject nor lists, so nothing is left to mask.
 *
 * So packets are registered and their descriptors are passed, although the inner provider does not
 * look at them; they arrive in random order, some much later than others; and a send is sometimes
 * refused for want of room. This is no proof that real hardware works.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/env.h"
#include "msgep/rdm/rdm_int.h"

#define VARIABLE "DAPL_OFI_TEST_CONSTRAIN"
#define ROW "constrained"
#define PACKET 8192
/* A packet is delivered after this many polls at the latest. */
#define AGE_MAX 3

bool rdm_constrained_requested(const struct dofi_fab *fab)
{
	const char *value = dofi_env_secure(VARIABLE);

	return !strcmp(fab->desc->name, ROW) ||
	       (value && (!strncmp(value, "efa", 3) || !strncmp(value, "shuffle", 7)));
}

/* Hints that a consumer of efa would give; software providers drop what they do not need. */
void rdm_constrained_hints(struct fi_info *hints)
{
	hints->tx_attr->msg_order = 0;
	hints->rx_attr->msg_order = 0;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
}

void rdm_constrained_start(struct rdm_net *net)
{
	const char *value = dofi_env_secure(VARIABLE);
	const char *seed = value ? strchr(value, ':') : NULL;
	struct rdm_constrained *shake = &net->constrained;

	shake->on = true;
	if (seed)
		shake->seed = strtoull(seed + 1, NULL, 0);
	else if (getrandom(&shake->seed, sizeof(shake->seed), 0) < 0)
		shake->seed = 1;
	shake->state = shake->seed ? shake->seed : 1;
	net->register_packets = true;
	if (!value || strncmp(value, "shuffle", 7)) {
		net->inner.info->ep_attr->max_msg_size = PACKET;
		if (net->packet_size > PACKET)
			net->packet_size = PACKET;
	}
	dofi_log(DOFI_LOG_INFO, "%s: seed %#llx", VARIABLE, (unsigned long long)shake->seed);
}

static uint32_t constrained_random(struct rdm_constrained *shake, uint32_t n)
{
	shake->state ^= shake->state << 13;
	shake->state ^= shake->state >> 7;
	shake->state ^= shake->state << 17;
	return (uint32_t)(shake->state >> 32) % n;
}

static struct rdm_packet *constrained_take(struct rdm_constrained *shake, uint32_t i)
{
	struct rdm_packet *packet = shake->packet[i];

	shake->count--;
	shake->packet[i] = shake->packet[shake->count];
	shake->age[i] = shake->age[shake->count];
	return packet;
}

struct rdm_packet *rdm_constrained_hold(struct rdm_net *net, struct rdm_packet *packet)
{
	struct rdm_constrained *shake = &net->constrained;
	struct rdm_packet *out = NULL;

	if (shake->count == RDM_CONSTRAINED_MAX)
		out = constrained_take(shake, constrained_random(shake, shake->count));
	shake->packet[shake->count] = packet;
	shake->age[shake->count++] = 0;
	return out;
}

void rdm_constrained_shuffle(struct rdm_net *net)
{
	struct rdm_constrained *shake = &net->constrained;

	for (uint32_t k = shake->count; k > 1; k--) {
		uint32_t j = constrained_random(shake, k);
		struct rdm_packet *packet = shake->packet[k - 1];
		uint8_t age = shake->age[k - 1];

		shake->packet[k - 1] = shake->packet[j];
		shake->age[k - 1] = shake->age[j];
		shake->packet[j] = packet;
		shake->age[j] = age;
	}
	shake->passed = 0;
}

struct rdm_packet *rdm_constrained_next(struct rdm_net *net)
{
	struct rdm_constrained *shake = &net->constrained;

	while (shake->passed < shake->count) {
		if (shake->age[shake->passed] >= AGE_MAX || constrained_random(shake, 4))
			return constrained_take(shake, shake->passed);
		shake->age[shake->passed++]++;
	}
	return NULL;
}

bool rdm_constrained_refuse(struct rdm_net *net)
{
	return !constrained_random(&net->constrained, 16);
}
