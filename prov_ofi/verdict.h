/* SPDX-License-Identifier: BSD-2-Clause */
/* Why did RDMA operations fail: because of the target's refusal, or with the connection?
 *
 * On a connected fabric of software a target that refuses an access just ends the connection. An
 * operation that was flushed while nobody here had ended it is therefore under suspicion: it is
 * not reported until the target has been asked over the link (link.h), or cannot be asked, or
 * has not answered in time. The connection's event waits as long. All under cm_lock, but for
 * dofi_verdict_suspect, which completions call.
 */
#ifndef DOFI_VERDICT_H
#define DOFI_VERDICT_H

#include "ep.h"
#include "link.h"

/* Would this adapter have let a peer do that? */
bool dofi_verdict_allowed(struct dofi_ia *ia, const struct dofi_access *access);

/* The connection has ended: if it left suspects, asks the target. False: there is nothing to wait
 * for, and no suspect left. `number` is the event to be given, now or then. */
bool dofi_verdict_seek(struct dofi_ep *ep, uint64_t peer, DAT_EVENT_NUMBER *number);
/* No verdict is waited for any more: clears what suspects there are. */
void dofi_verdict_drop(struct dofi_ep *ep);
/* The time for the answer is over. */
void dofi_verdict_timeout(struct dofi_ep *ep);

void dofi_verdict_link_up(struct dofi_ia *ia, uint64_t peer);
void dofi_verdict_lost(struct dofi_ia *ia, uint64_t peer);
void dofi_verdict_answer(struct dofi_ia *ia, uint64_t number, uint64_t refused);

#endif
