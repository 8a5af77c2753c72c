/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes whether a host is reachable, for devices whose driver blocks in its connect call. */
#ifndef DOFI_HOST_PROBE_H
#define DOFI_HOST_PROBE_H

#include "fabric/fab.h"

/* Opens a TCP connection to `to` and closes it; any answer, also a refusal, shows that the host is
 * reachable. Addresses of this host are not probed. from: NULL, or the local address to use.
 * Returns 0 or an error (-ETIMEDOUT: no answer within `ms`). Takes no lock. */
int dofi_host_probe(const union dofi_addr *from, const union dofi_addr *to, int ms);

#endif
