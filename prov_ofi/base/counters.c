/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates the counters of objects and counts rare events. */
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/fork_lock.h"

#define COUNT(slot, name) DOFI_COUNT_SHARED((slot)->n[DOFI_IA_##name], 1)

pthread_mutex_t dofi_count_base_lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(dofi_count_base_lock, DOFI_FORK_COUNT_BASE)

void dofi_count_base_free(struct dofi_count_base **base)
{
	pthread_mutex_lock(&dofi_count_base_lock);
	free(*base);
	*base = NULL;
	pthread_mutex_unlock(&dofi_count_base_lock);
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
