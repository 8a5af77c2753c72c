/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings, each declared once, here. Environment variable: DAPL_OFI_<NAME>.
 *
 * Columns: name, minimum, maximum, default, meaning with unit. Numbers outside the range are
 * reported, and the default is used.
 */
#ifndef DOFI_PARAM_H
#define DOFI_PARAM_H

#include <stdbool.h>

/* clang-format off */
#define DOFI_NUMBERS(X) \
	X(LOG, 0, 4, 1, "log level on stderr: 0 nothing, 1 errors, 2 warnings (rejected peers, " \
	  "lost connections), 3 information, 4 everything") \
	X(SPIN_US, 0, 10000, 40, "maximum time, in microseconds, that a wait polls before it " \
	  "sleeps; 0: do not poll") \
	X(LINGER_MS, 0, 60000, 2000, "maximum time, in milliseconds, that a disconnected " \
	  "connection is kept open until the peer has read everything") \
	X(GRACE_MS, 10, 60000, 1000, "time, in milliseconds, that a message of a peer which has " \
	  "ended the connection waits for a receive to be posted") \
	X(DRAIN_MS, 1, 3600000, 30000, "maximum time, in milliseconds, that a graceful " \
	  "disconnect waits for outstanding requests") \
	X(CONNECT_RETRY_MS, 0, 60000, 200, "time, in milliseconds, during which a connection " \
	  "attempt is repeated while the peer has no listener, within the timeout of the call; " \
	  "0: one attempt") \
	X(ACCEPT_MS, 100, 3600000, 10000, "maximum time, in milliseconds, between accepting a " \
	  "connection request and the established connection") \
	X(COLL_CREATE_MS, 100, 3600000, 60000, "maximum time, in milliseconds, until all members " \
	  "of a collective group have created it") \
	X(KEEPALIVE_S, 0, 7200, 15, "idle time, in seconds, after which a TCP peer is probed; if " \
	  "it does not answer for the same time, the connection ends; 0: never probe") \
	X(PACKET_KIB, 0, 64, 0, "size, in KiB, of the packets on fabrics with RDM endpoints; the " \
	  "smaller value of the two sides applies; 0: 32 if the fabric sends messages of this " \
	  "size eagerly, else 16") \
	X(PACKET_WINDOW, 2, 64, 8, "maximum number of packets in flight in each of the two " \
	  "channels of a connection") \
	X(LARGE_PACKET_KIB, 0, 4096, 256, "size, in KiB, of the large packets for long transfers " \
	  "there; the smaller value of the two sides applies; 0, or less than two packets: none") \
	X(HALF_OPEN_MS, 100, 3600000, 3000, "time, in milliseconds, after which a half-open " \
	  "connection to a service point, which has not sent a request, is closed") \
	X(STALL_MS, 100, 3600000, 60000, "time, in milliseconds, after which a connection that " \
	  "makes no progress ends, although operations are outstanding, if the peer is running " \
	  "and confirms that data was lost (fabrics with RDM endpoints)") \
	X(SHM_RING_KIB, 4, 65536, 1024, "shm: size, in KiB, of each of the four rings of a " \
	  "connection, rounded down to a power of two; the active side determines it") \
	X(SHM_PULL_KIB, 0, 1048576, 8, "shm: minimum size, in KiB, of messages, writes and reads " \
	  "that the receiver copies directly from the memory of the other process, where the " \
	  "kernel allows that and is fast; 0: never") \
	X(COUNTER_FILE, 0, 1, 1, "1: the counters of the process are in a file in " \
	  "XDG_RUNTIME_DIR or /dev/shm, which dat_top reads; 0: no such file")
/* clang-format on */

/* Former names of settings; they are accepted where the present name is not set. */
#define DOFI_FORMER_NAMES(X) \
	X(PACKET_KIB, CELL_KIB) \
	X(PACKET_WINDOW, CELL_WINDOW) \
	X(LARGE_PACKET_KIB, BULK_KIB) \
	X(HALF_OPEN_MS, SILENT_MS) \
	X(CONNECT_RETRY_MS, CONNECT_GRACE_MS)

/* clang-format off */
#define DOFI_STRINGS(X) \
	X(PROVIDER, "fabric to use, overrides the registry entry: tcp, shm, verbs, rxm, ...") \
	X(DOMAIN, "network interface, IP address or RDMA device to use, overrides the registry " \
	  "entry") \
	X(PORT_RANGE, "FIRST-LAST: the ports that this library chooses itself are from this " \
	  "range; unset: the system chooses them") \
	X(LOG_FILE, "file to which log messages are appended instead of stderr; %p in its name " \
	  "is replaced by the process ID") \
	X(CM_SECRET_FILE, "file with a secret that both ends of a connection must have; only its " \
	  "owner and group may have access to it") \
	X(TRACE, "1: print every call with its arguments, result and duration on stderr; or a " \
	  "file to which this is appended (%p: the process ID)")
/* clang-format on */

enum dofi_number {
#define X(name, lo, hi, def, text) DOFI_NUM_##name,
	DOFI_NUMBERS(X)
#undef X
		DOFI_NUM_COUNT,
};

enum dofi_string {
#define X(name, text) DOFI_STR_##name,
	DOFI_STRINGS(X)
#undef X
		DOFI_STR_COUNT,
};

/* The debug masks of the original DAPL set the log level unless DAPL_OFI_LOG does: bit 0 errors,
 * bit 1 warnings, the next six bits information, all others everything. */
/* clang-format off */
#define DOFI_LEGACY_MASKS { "DAPL_DBG_TYPE", "DAT_DBG_TYPE" }
/* clang-format on */

/* Reads the environment; called at each provider initialisation. */
void dofi_param_load(void);
long dofi_param(enum dofi_number which);
/* Environment variable of the setting's former name, or NULL. */
const char *dofi_param_former(enum dofi_number which);
/* NULL if unset or empty, and in a program with more privileges than its caller (env.h). */
const char *dofi_param_str(enum dofi_string which);
/* For file names: NULL also if "0". */
const char *dofi_param_path(enum dofi_string which);
/* True if the setting is ignored because the program has more privileges than its caller. */
bool dofi_param_ignored(enum dofi_string which);
/* Calls fn for each DAPL_OFI_* variable of the environment that is not a setting; `nearest` is the
 * setting that was probably meant, or NULL. */
void dofi_param_unknown(void (*fn)(const char *name, const char *nearest));
/* Logs unknown settings: as an error if a similar setting exists, else as a warning. */
void dofi_param_warn_unknown(void);

#endif
