/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings: each one declared once, here. Environment variable = DAPL_OFI_<NAME>.
 *
 * Columns: name, least, greatest, default, unit and meaning. Numbers outside the range are
 * reported and the default is used.
 */
#ifndef DOFI_PARAM_H
#define DOFI_PARAM_H

#define DOFI_NUMBERS(X) \
	X(LOG, 0, 4, 1, "log level on stderr: 0 nothing, 1 errors, 2 warnings (refused peers, " \
	  "lost links), 3 information, 4 everything") \
	X(SPIN_US, 0, 10000, 40, "longest time, in microseconds, that a wait polls before it " \
	  "sleeps; 0 sleeps at once") \
	X(LINGER_MS, 0, 60000, 2000, "longest time, in milliseconds, that a disconnected fabric " \
	  "endpoint is kept open until the peer has read everything") \
	X(GRACE_MS, 10, 60000, 1000, "time, in milliseconds, that a message from a peer which " \
	  "has gone may wait for a receive to be posted") \
	X(DRAIN_MS, 1, 3600000, 30000, "longest time, in milliseconds, that a graceful " \
	  "disconnect waits for outstanding requests") \
	X(ACCEPT_MS, 100, 3600000, 10000, "longest time, in milliseconds, between accepting a " \
	  "connection request and the connection being up") \
	X(KEEPALIVE_S, 0, 7200, 15, "seconds of silence after which a TCP peer is probed; it is " \
	  "given up after as long again without an answer; 0 never probes") \
	X(WRITE_DELIVERY, 0, 1, 1, "1: an RDMA write completes when its data is in the target's " \
	  "memory; 0: when the fabric has taken it") \
	X(WRITE_TAIL, 0, 1, 1, "1: the last bytes of an RDMA write appear in the target's memory " \
	  "after all others, for programs that wait for them there; 0: saves a small message") \
	X(SILENT_MS, 100, 3600000, 3000, "time, in milliseconds, after which a stranger that " \
	  "connects to a service point and says nothing is thrown out")

#define DOFI_STRINGS(X) \
	X(PROVIDER, "libfabric provider to use, whatever the registry entry says: tcp") \
	X(DOMAIN, "network interface or IP address to use, whatever the registry entry says")

enum dofi_number {
#define X(name, lo, hi, def, text) DOFI_NUM_##name,
	DOFI_NUMBERS(X)
#undef X
	DOFI_NUM_COUNT
};

enum dofi_string {
#define X(name, text) DOFI_STR_##name,
	DOFI_STRINGS(X)
#undef X
	DOFI_STR_COUNT
};

/* Reads the environment; called at each provider initialisation. */
void dofi_param_load(void);
long dofi_param(enum dofi_number which);
/* NULL when unset or empty. */
const char *dofi_param_str(enum dofi_string which);

#endif
