/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps: packets that are missing while later ones have arrived. */
#include <errno.h>

#include "base/clock.h"
#include "msgep/rdm/rdm_int.h"

#define GAP_CHECK_MS 100

/* The first missing packet before one that has arrived. */
static bool rdm_is_missing(struct rdm_conn *conn, int ch, uint32_t *which)
{
	uint32_t seq = atomic_load(&conn->expected[ch]), i = 0;

	while (i < conn->net->window && atomic_load(rdm_slot(conn, ch, seq + i)))
		i++;
	*which = seq + i;
	while (++i < conn->net->window)
		if (atomic_load(rdm_slot(conn, ch, seq + i)))
			return true;
	return false;
}

uint32_t rdm_first_missing(struct rdm_conn *conn, int ch)
{
	uint32_t which;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	rdm_is_missing(conn, ch, &which);
	return which;
}

void rdm_record_gap(struct rdm_conn *conn, uint64_t now)
{
	if (!dofi_list_empty(&conn->gap))
		return;
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		rdm_is_missing(conn, ch, &conn->gap_at[ch]);
	conn->gap_since = now;
	dofi_list_append(&conn->net->gaps, &conn->gap);
}

static void rdm_check_gap(struct rdm_conn *conn, uint64_t now)
{
	bool any = false, same = false;
	uint32_t which, limit;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		if (!rdm_is_missing(conn, ch, &which))
			continue;
		any = true;
		same |= which == conn->gap_at[ch];
	}
	limit = rdm_large_missing(conn) ? RDM_LARGE_GAP_MS : RDM_GAP_MS;
	if (same && now < conn->gap_since + DOFI_MS(limit))
		return;
	dofi_list_remove(&conn->gap);
	if (same)
		rdm_break(conn, FI_ETIMEDOUT);
	else if (any)
		rdm_record_gap(conn, now);
}

void rdm_check_gaps(struct rdm_net *net)
{
	struct dofi_list *pos, *tmp;
	uint64_t now = dofi_now();

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	if (now < net->gap_check)
		return;
	net->gap_check = now + DOFI_MS(GAP_CHECK_MS);
	dofi_list_each_safe(pos, tmp, &net->gaps)
		rdm_check_gap(dofi_container(pos, struct rdm_conn, gap), now);
}
