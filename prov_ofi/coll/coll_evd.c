/* SPDX-License-Identifier: BSD-2-Clause */
/* The EVD of the collectives: room for events, and events that no longer matter. */
#include "coll/coll_int.h"

bool dofi_coll_reserve(struct dofi_coll *coll, uint32_t peers)
{
	struct dofi_evd *evd = coll->evd;
	uint32_t capacity;
	bool ok = true;

	dofi_lock(&evd->lock);
	capacity = evd->capacity;
	while (capacity < COLL_EVENTS_FIRST + 4 * (coll->peers + peers))
		capacity *= 2;
	if (capacity > evd->capacity)
		ok = dofi_evd_grow(evd, capacity);
	if (ok)
		evd->qlen = (DAT_COUNT)capacity;
	dofi_unlock(&evd->lock);
	if (ok)
		coll->peers += peers;
	return ok;
}

void dofi_coll_forget(struct dofi_coll *coll, const struct dofi_ep *ep)
{
	struct dofi_evd *evd = coll->evd;

	dofi_lock(&evd->lock);
	for (uint32_t i = evd->head; i != evd->tail; i++) {
		struct dofi_event *e = &evd->ring[i & (evd->capacity - 1)];
		DAT_HANDLE of = e->number == DAT_DTO_COMPLETION_EVENT
					? e->data.dto_completion_event_data.ep_handle
					: e->data.connect_event_data.ep_handle;

		if (e->number != DAT_CONNECTION_REQUEST_EVENT && of == ep)
			e->number = (DAT_EVENT_NUMBER)0;
	}
	dofi_unlock(&evd->lock);
}
