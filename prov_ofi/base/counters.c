/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates the counters of objects and counts rare events. */
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/slab.h"

static struct dofi_slab ep_slots = DOFI_SLAB_INIT(struct dofi_ep_slot, 32, NULL);
static struct dofi_slab evd_slots = DOFI_SLAB_INIT(struct dofi_evd_slot, 32, NULL);
static struct dofi_slab ia_slots = DOFI_SLAB_INIT(struct dofi_ia_slot, 2, NULL);

#define COUNT(slot, name) DOFI_COUNT_SHARED((slot)->n[DOFI_IA_##name], 1)

pthread_mutex_t dofi_count_base_lock = PTHREAD_MUTEX_INITIALIZER;

void dofi_count_base_free(struct dofi_count_base **base)
{
	pthread_mutex_lock(&dofi_count_base_lock);
	free(*base);
	*base = NULL;
	pthread_mutex_unlock(&dofi_count_base_lock);
}

static void *slot_new(struct dofi_slab *slab, size_t size)
{
	void *slot = dofi_slab_get(slab);

	if (slot)
		memset(slot, 0, size);
	return slot;
}

struct dofi_ep_slot *dofi_ep_slot_new(uint32_t ia, unsigned int number)
{
	struct dofi_ep_slot *slot = slot_new(&ep_slots, sizeof(*slot));

	if (slot)
		slot->head = (struct dofi_slot_head){ .ia = ia, .number = number };
	return slot;
}

struct dofi_evd_slot *dofi_evd_slot_new(uint32_t ia, unsigned int number)
{
	struct dofi_evd_slot *slot = slot_new(&evd_slots, sizeof(*slot));

	if (slot)
		slot->head = (struct dofi_slot_head){ .ia = ia, .number = number };
	return slot;
}

struct dofi_ia_slot *dofi_ia_slot_new(unsigned int number)
{
	struct dofi_ia_slot *slot = slot_new(&ia_slots, sizeof(*slot));

	if (slot)
		slot->head = (struct dofi_slot_head){ .ia = number, .number = number };
	return slot;
}

void dofi_ep_slot_free(struct dofi_ep_slot *slot)
{
	dofi_slab_put(&ep_slots, slot);
}

void dofi_evd_slot_free(struct dofi_evd_slot *slot)
{
	dofi_slab_put(&evd_slots, slot);
}

void dofi_ia_slot_free(struct dofi_ia_slot *slot)
{
	dofi_slab_put(&ia_slots, slot);
}

/* CRs, CNOs and CSPs have no counters. PSPs are counted where they are created, because there are
 * two calls. */
void dofi_count_object(struct dofi_ia_slot *ia, DAT_HANDLE_TYPE type, bool created)
{
	static const struct {
		bool counted;
		uint8_t created, freed;
	} kinds[] = {
#define KIND(kind) { true, DOFI_IA_##kind##_CREATE, DOFI_IA_##kind##_FREE }
		[DAT_HANDLE_TYPE_PZ] = KIND(PZ),   [DAT_HANDLE_TYPE_LMR] = KIND(LMR),
		[DAT_HANDLE_TYPE_RMR] = KIND(RMR), [DAT_HANDLE_TYPE_PSP] = KIND(PSP),
		[DAT_HANDLE_TYPE_RSP] = KIND(RSP), [DAT_HANDLE_TYPE_EVD] = KIND(EVD),
		[DAT_HANDLE_TYPE_EP] = KIND(EP),   [DAT_HANDLE_TYPE_SRQ] = KIND(SRQ),
#undef KIND
	};

	if ((size_t)type >= sizeof(kinds) / sizeof(*kinds) || !kinds[type].counted ||
	    (created && type == DAT_HANDLE_TYPE_PSP))
		return;
	DOFI_COUNT_SHARED(ia->n[created ? kinds[type].created : kinds[type].freed], 1);
}

void dofi_count_memory(struct dofi_ia_slot *ia, size_t bytes, bool allocated)
{
	if (!allocated) {
		COUNT(ia, MEM_FREE);
		return;
	}
	COUNT(ia, MEM_ALLOC);
	DOFI_COUNT_SHARED(ia->n[DOFI_IA_MEM_ALLOC_DATA], bytes);
}

void dofi_count_disconnected(struct dofi_ia_slot *ia, bool by_us)
{
	if (by_us)
		COUNT(ia, CM_DREQ_TX);
	else
		COUNT(ia, CM_DREQ_RX);
}

void dofi_count_conn_end(struct dofi_ia_slot *ia, DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		COUNT(ia, CM_USER_REJ_RX);
		return;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		COUNT(ia, CM_ERR_REFUSED);
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		COUNT(ia, CM_ERR_TIMEOUT);
		break;
	case DAT_CONNECTION_EVENT_BROKEN:
		COUNT(ia, CM_ERR_RESET);
		break;
	default:
		break;
	}
	COUNT(ia, CM_ERR);
}

void dofi_count_async(struct dofi_ia_slot *ia, DAT_EVENT_NUMBER number, bool of_ep)
{
	COUNT(ia, ASYNC_ERROR);
	if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		COUNT(ia, ASYNC_CQ_ERROR);
	else if (of_ep)
		COUNT(ia, ASYNC_QP_ERROR);
}
