/* SPDX-License-Identifier: BSD-2-Clause */
/* Is there a host at that address? For devices whose driver connects inside the call. */
#ifndef DOFI_FEEL_H
#define DOFI_FEEL_H

#include "fab.h"

/* Asks for a TCP connection to `to`, and drops it: to be answered at all is enough, a refusal is
 * an answer, too. Addresses of this host are not asked. `from`: NULL or an own address to leave
 * from. 0, or the reason why nobody answers (-ETIMEDOUT: silence for `ms`). Takes no lock. */
int dofi_feel(const union dofi_addr *from, const union dofi_addr *to, int ms);

#endif
