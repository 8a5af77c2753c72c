/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides whether to trust a listener on this host with connections to an address and port.
 *
 * Any user can bind a name in the abstract namespace of unix sockets, also that of another user's
 * service point that listens with TCP alone. The kernel reports the user of the listening process:
 * root, this user, and the owner of the TCP port are trusted, because the owner of the port would
 * get the connection over the network, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "msgep/cm/cm_int.h"

#define LISTENING 0x0a

/* False for a user without an id in this user namespace: all of those appear as user 65534, so
 * equal ids do not mean equal users. */
static bool cm_is_known(uid_t uid)
{
	uint64_t first, outside, count;
	FILE *f = fopen("/proc/self/uid_map", "re");
	bool known = false;

	while (f && !known &&
	       fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &first, &outside, &count) == 3)
		known = uid >= first && uid - first < count;
	if (f)
		fclose(f);
	return known;
}

/* The sockets that a connect to the address may reach, as /proc/net/tcp and tcp6 show them. */
struct names {
	size_t n;
	char text[3][48];
};

static void cm_add_name(struct names *names, const uint32_t *words, int n, uint16_t port)
{
	char *p = names->text[names->n++];

	for (int i = 0; i < n; i++)
		p += sprintf(p, "%08" PRIX32, words[i]);
	sprintf(p, ":%04X", port);
}

static void cm_find_names(const union dofi_addr *to, bool v6_table, struct names *names)
{
	uint32_t words[4] = { 0, 0, 0, 0 };
	uint16_t port = dofi_addr_port(&to->sa);

	names->n = 0;
	cm_add_name(names, words, v6_table ? 4 : 1, port);
	if (to->sa.sa_family == AF_INET6) {
		memcpy(words, &to->in6.sin6_addr, sizeof(words));
	} else if (v6_table) {
		words[2] = htonl(0xffff);
		words[3] = to->in.sin_addr.s_addr;
	} else {
		words[0] = to->in.sin_addr.s_addr;
	}
	cm_add_name(names, words, v6_table ? 4 : 1, port);
}

/* All listeners of one table that a connect may reach: *uid is theirs. False: they have several
 * owners, or *found has another one. */
static bool cm_scan_sockets(const char *path, const struct names *names, bool *found, uid_t *uid)
{
	FILE *f = fopen(path, "re");
	char line[512], local[48];
	unsigned int state, owner;
	bool one = true;

	while (f && one && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*d: %47s %*s %x %*s %*s %*s %u", local, &state, &owner) != 3)
			continue;
		/* Listening sockets come first. */
		if (state != LISTENING)
			break;
		for (size_t i = 0; i < names->n; i++) {
			if (strcmp(local, names->text[i]))
				continue;
			one = one && (!*found || *uid == owner);
			*found = true;
			*uid = owner;
		}
	}
	if (f)
		fclose(f);
	return one;
}

bool msgep_cm_port_owner(const union dofi_addr *to, uid_t *uid)
{
	struct names names;
	bool found = false, one = true;

	if (to->sa.sa_family == AF_INET) {
		cm_find_names(to, false, &names);
		one = cm_scan_sockets("/proc/thread-self/net/tcp", &names, &found, uid);
	}
	cm_find_names(to, true, &names);
	return one && cm_scan_sockets("/proc/thread-self/net/tcp6", &names, &found, uid) && found;
}

static bool cm_owns_port(uid_t uid, const union dofi_addr *to)
{
	uid_t owner;

	return msgep_cm_port_owner(to, &owner) && owner == uid;
}

bool msgep_cm_peer_trusted(int fd, const union dofi_addr *to, enum msgep_cm_proof proof)
{
	char text[INET6_ADDRSTRLEN];
	struct ucred cred;
	socklen_t len = sizeof(cred);
	bool own;

	if (proof == MSGEP_CM_PROOF_SECRET)
		return true;
	/* The credentials of the process that called listen. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return false;
	own = !cred.uid || cred.uid == geteuid() ||
	      (proof == MSGEP_CM_PROOF_PORT && cm_owns_port(cred.uid, to));
	if (own && cm_is_known(cred.uid))
		return true;
	if (own) {
		dofi_log(DOFI_LOG_WARN,
			 "%s:%u: /proc/self/uid_map does not have user %u, whose listener for "
			 "shared memory this is, or cannot be read: not connecting to it",
			 msgep_cm_addr_text(to, text, sizeof(text)), dofi_addr_port(&to->sa),
			 (unsigned int)cred.uid);
		return false;
	}
	dofi_log(DOFI_LOG_WARN,
		 "%s:%u: the listener for shared memory is user %u's, not root's or "
		 "user %u's%s",
		 msgep_cm_addr_text(to, text, sizeof(text)), dofi_addr_port(&to->sa),
		 (unsigned int)cred.uid, (unsigned int)geteuid(),
		 proof == MSGEP_CM_PROOF_PORT
			 ? ", nor the TCP port's owner's: connecting over the network"
			 : ": refused (DAPL_OFI_CM_SECRET_FILE lets users prove themselves to each "
			   "other)");
	return false;
}
