/* SPDX-License-Identifier: BSD-2-Clause */
/* What objects show to consumers of one API version only: version_12.c, version_20.c. */
#ifndef DOFI_VERSION_H
#define DOFI_VERSION_H

#include "base/dat_version.h"

struct dofi_ia;
struct dofi_lmr;
struct dofi_ep;
struct dofi_rmr;
struct dofi_event;

#if DOFI_API == 20
/* Fills the members that only events of the extension have, and those of collectives
 * (version_20.c). `from`: NULL for an event that was in no queue, which is not of a datagram
 * endpoint. */
void dofi_event_ib(DAT_EVENT *event, uint32_t immed, const struct dofi_event *from);

/* Fills what an event of a datagram endpoint has besides the ordinary members
 * (version_20_ud.c). */
void dofi_ud_event_ib(const DAT_EVENT *event, uint32_t immed, const struct dofi_event *from,
		      DAT_IB_EXTENSION_EVENT_DATA *x);
#endif

/* The same for any event that a consumer takes; 1.2 has no such members. */
static inline void dofi_event_extra(DAT_EVENT *event, uint32_t immed, const struct dofi_event *from)
{
#if DOFI_API == 20
	if ((unsigned int)event->event_number >= DAT_IB_DTO_EVENT)
		dofi_event_ib(event, immed, from);
#else
	(void)event;
	(void)immed;
	(void)from;
#endif
}

/* True if dat_ep_create_with_srq accepts NULL attributes. */
extern const bool dofi_api_srq_attr_optional;

/* Returns the consumer's handle of an open IA; NULL until the registry has entered it. */
DAT_IA_HANDLE dofi_api_ia_handle(struct dofi_ia *ia);
/* True if the version has the operations of dat_ib_extensions.h. */
bool dofi_api_extensions(void);
/* Set the attribute members that only one version has. */
void dofi_api_ia_attr(struct dofi_ia *ia, DAT_IA_ATTR *attr);
void dofi_api_provider_attr(struct dofi_ia *ia, DAT_PROVIDER_ATTR *attr);
/* Set the members of queried parameters that only one version has. */
void dofi_api_lmr_param(const struct dofi_lmr *lmr, DAT_LMR_PARAM *param);
void dofi_api_ep_param(const struct dofi_ep *ep, DAT_EP_PARAM *param);
void dofi_api_rmr_param(const struct dofi_rmr *rmr, DAT_RMR_PARAM *param);

#endif
