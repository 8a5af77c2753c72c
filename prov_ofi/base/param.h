/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings: each one declared once, here. Environment variable = DAPL_OFI_<NAME>.
 *
 * Columns: name, least, greatest, default, unit and meaning. Numbers outside the range are
 * reported and the default is used.
 */
#ifndef DOFI_PARAM_H
#define DOFI_PARAM_H

#include <stdbool.h>

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
	X(CONNECT_GRACE_MS, 0, 60000, 200, "how long, in milliseconds, a connect whose peer has " \
	  "no listener yet is tried again, within the time limit of the call; 0: one attempt") \
	X(ACCEPT_MS, 100, 3600000, 10000, "longest time, in milliseconds, between accepting a " \
	  "connection request and the connection being up") \
	X(KEEPALIVE_S, 0, 7200, 15, "seconds of silence after which a TCP peer is probed; it is " \
	  "given up after as long again without an answer; 0 never probes") \
	X(CELL_KIB, 0, 64, 0, "size, in KiB, of the messages in which connections travel on " \
	  "fabrics that have none; the smaller of both sides counts; 0: 32 where the fabric " \
	  "copies so much at once, else 16") \
	X(CELL_WINDOW, 2, 64, 8, "how many of these messages a connection may have under way in " \
	  "each of its two channels") \
	X(BULK_KIB, 0, 4096, 256, "size, in KiB, of the messages in which long requests and " \
	  "answers travel there; the smaller of both sides counts; 0, or less than two cells: " \
	  "none") \
	X(SILENT_MS, 100, 3600000, 3000, "time, in milliseconds, after which a stranger that " \
	  "connects to a service point and says nothing is thrown out") \
	X(STALL_MS, 100, 3600000, 60000, "time, in milliseconds, after which a connection ends on " \
	  "which nothing moves though something is posted, if the peer runs and tells that data " \
	  "was lost (fabrics with RDM endpoints)") \
	X(SHM_RING_KIB, 4, 65536, 128, \
	  "shm: KiB of each of the four rings of a connection, made a " \
	  "power of two; the side that connects decides") \
	X(SHM_PULL_KIB, 0, 1048576, 8, \
	  "shm: messages, writes and reads of so many KiB are taken by the receiver out of the " \
	  "memory where they are, where the kernel allows that and is quick " \
	  "at it; 0 never")

#define DOFI_STRINGS(X) \
	X(PROVIDER, "fabric to use, whatever the registry entry says: tcp, shm, verbs, rxm, ...") \
	X(DOMAIN, "network interface, IP address or RDMA device to use, whatever the registry " \
	  "entry says") \
	X(LOG_FILE, "file to which log lines are appended instead of stderr; %p in its name " \
	  "becomes the process id") \
	X(CM_SECRET_FILE, "file with a secret that a peer must know to be connected with; " \
	  "nobody but its owner and group may have access to it") \
	X(TRACE, "1: tell every call with its arguments, result and time on stderr; or a file " \
	  "to which that is appended (%p: the process id)")

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

/* The log level that the masks of the original DAPL ask for; DAPL_OFI_LOG overrides it. Errors and
 * warnings are bits 0 and 1, the next six tell of the course of things, all others of
 * everything. */
#define DOFI_LEGACY_MASKS { "DAPL_DBG_TYPE", "DAT_DBG_TYPE" }

/* Reads the environment; called at each provider initialisation. */
void dofi_param_load(void);
long dofi_param(enum dofi_number which);
/* NULL when unset or empty, and in a program with more rights than its caller (env.h). */
const char *dofi_param_str(enum dofi_string which);
/* For names of files: NULL, too, when "0". */
const char *dofi_param_path(enum dofi_string which);
/* True if the caller has set it, and it is ignored because the program has more rights. */
bool dofi_param_ignored(enum dofi_string which);
/* Calls fn for each variable of the environment that looks like a setting and is none; `near`
 * is the setting that was probably meant, or NULL. */
void dofi_param_unknown(void (*fn)(const char *name, const char *near));
/* Logs them: as an error if a setting was probably meant, else as a warning. */
void dofi_param_warn_unknown(void);

#endif
