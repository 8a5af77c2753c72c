/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uDAPL 2.0: calls of this library that DAT does not define. A program that uses them cannot be
 * linked with another DAT library.
 */
#ifndef _DAT2_OFI_H_
#define _DAT2_OFI_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * dat_strevent - name of an event number.
 *
 * The word is spelled like the enumerator, in static storage: "DAT_CONNECTION_EVENT_BROKEN". May be
 * called at any time, also in a signal handler.
 *
 *   event_number  event_number of a DAT_EVENT
 *
 * Returns the name, "DAT_UNKNOWN_EVENT" for other numbers; never NULL.
 */
extern const char *dat_strevent(DAT_EVENT_NUMBER event_number);

#ifdef __cplusplus
}
#endif

#endif /* _DAT2_OFI_H_ */
