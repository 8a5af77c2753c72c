/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs why a connection was not established, once per attempt, with a remedy. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error_text.h"
#include "base/log.h"
#include "base/param.h"
#include "cm/diag_cm.h"
#include "fabrics/fabrics.h"

#define SAME_SECRET "the same DAPL_OFI_CM_SECRET_FILE "
#define CLOSED_BY_PEER "the peer closed the connection and gave no reason"
#define SAME_FABRIC "let both sides use the same fabric (DAPL_OFI_PROVIDER)"

static bool diag_wanted(enum dofi_log_level level)
{
	return dofi_param(DOFI_NUM_LOG) >= (long)level;
}

void dofi_diag_connecting(const struct dofi_ia *ia, const union dofi_addr *to, DAT_CONN_QUAL qual)
{
	char text[DOFI_ADDR_TEXT];

	if (diag_wanted(DOFI_LOG_DEBUG))
		dofi_log(DOFI_LOG_DEBUG, "connecting to %s (qualifier %" PRIu64 ") over %s",
			 dofi_addr_text(to, dofi_addr_port(&to->sa), text, sizeof(text)),
			 (uint64_t)qual, ia->fab.desc->name);
}

/* The remedy for an error of an attempt. */
static const char *diag_remedy(int err)
{
	switch (err) {
	case ECONNREFUSED:
		return "start the listener first, check address and qualifier, and " SAME_FABRIC;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case ETIMEDOUT:
	case EADDRNOTAVAIL:
		return "check with ping that the address is reachable from this adapter's "
		       "interface (DAPL_OFI_DOMAIN)";
	case EACCES:
	case EPERM:
	case EINVAL:
		return "check the routes and the firewall of this host";
	case EADDRINUSE:
		return "fewer sockets on this host, or more ports (net.ipv4.ip_local_port_range)";
	case EMFILE:
	case ENFILE:
		return "ulimit -n";
	case EFBIG:
		return "ulimit -f";
	default:
		return "check that a DAT program listens there, and " SAME_FABRIC;
	}
}

static void diag_attempt_failed(const struct dofi_ia *ia, const union dofi_addr *to, uint16_t port,
				DAT_CONN_QUAL qual, const char *cause, const char *try)
{
	char text[DOFI_ADDR_TEXT];

	dofi_log(DOFI_LOG_WARN, "cannot connect to %s (qualifier %" PRIu64 ") over %s: %s; try: %s",
		 dofi_addr_text(to, port, text, sizeof(text)), (uint64_t)qual, ia->fab.desc->name,
		 cause, try);
}

/* Errors of libfabric and of msgep's handshake for a listener that closes the connection or answers
 * with other data. */
static bool diag_is_foreign(int err)
{
	return err == EIO || err == EINPROGRESS || err == EPROTO || err == EBADMSG ||
	       err == ECONNRESET || err == EPROTONOSUPPORT || err == ENOTCONN || err == EPIPE;
}

static const char *diag_cause_of(int err)
{
	if (err == ECONNREFUSED)
		return "no service point of this fabric listens there";
	if (err == ECONNABORTED)
		return CLOSED_BY_PEER;
	if (diag_is_foreign(err))
		return "what listens there does not speak the protocol of this fabric";
	return dofi_error_text(err);
}

void dofi_diag_unreachable(const struct dofi_ia *ia, const union dofi_addr *to, DAT_CONN_QUAL qual,
			   int err)
{
	if (diag_wanted(DOFI_LOG_WARN))
		diag_attempt_failed(ia, to, dofi_addr_port(&to->sa), qual, diag_cause_of(err),
				    diag_remedy(err));
}

/* ep->remote has no port; remote_port is that of the qualifier on the active side. */
static void diag_ep_failed(const struct dofi_ep *ep, const char *cause, const char *try)
{
	diag_attempt_failed(ep->obj.ia, &ep->remote, ep->remote_port, ep->qual, cause, try);
}

void dofi_diag_connect_failed(const struct dofi_ep *ep, int err)
{
	if (diag_wanted(DOFI_LOG_WARN))
		diag_ep_failed(ep, diag_cause_of(err), diag_remedy(err));
}

void dofi_diag_connect_rejected(const struct dofi_ep *ep, const struct dofi_cm_msg *reject)
{
	const char *try = diag_remedy(0);
	char cause[128];

	if (!diag_wanted(DOFI_LOG_WARN))
		return;
	snprintf(cause, sizeof(cause), "%s", dofi_cm_reason_text(reject->reason));
	switch (reject->reason) {
	case DOFI_CM_NO_LISTENER:
		try = diag_remedy(ECONNREFUSED);
		break;
	case DOFI_CM_BACKLOG:
		try = "a larger connection request EVD at the peer, or later again";
		break;
	case DOFI_CM_VERSION_OTHER:
		try = "the same release of this library at both sides";
		if (dofi_cm_fabrics_match(reject->fabric, ep->obj.ia->fab.desc->wire_id))
			break;
		snprintf(cause, sizeof(cause), "what listens there uses the fabric %s",
			 dofi_fab_name(reject->fabric));
		try = SAME_FABRIC;
		break;
	case DOFI_CM_RESOURCES:
		try = "ulimit -n and free memory at the peer";
		break;
	case DOFI_CM_NO_SECRET:
	case DOFI_CM_SECRET_WANTED:
	case DOFI_CM_SECRET_OTHER:
		try = SAME_SECRET "at both sides";
		break;
	default:
		break;
	}
	diag_ep_failed(ep, cause, try);
}

void dofi_diag_connect_ended(const struct dofi_ep *ep)
{
	if (diag_wanted(DOFI_LOG_WARN))
		diag_ep_failed(ep, CLOSED_BY_PEER, diag_remedy(0));
}

void dofi_diag_connect_timed_out(const struct dofi_ep *ep)
{
	if (diag_wanted(DOFI_LOG_WARN))
		diag_ep_failed(
			ep, "no answer within the timeout of dat_ep_connect",
			"a longer timeout, check that the peer's program accepts, and that no "
			"firewall drops what comes to that port");
}

void dofi_diag_accept_failed(const struct dofi_ep *ep, const char *cause)
{
	char text[DOFI_ADDR_TEXT];

	if (diag_wanted(DOFI_LOG_INFO))
		dofi_log(DOFI_LOG_INFO,
			 "the request of %s was accepted, no connection followed: %s",
			 dofi_addr_text(&ep->remote, ep->remote_port, text, sizeof(text)), cause);
}

void dofi_diag_connect_unproven(const struct dofi_ep *ep)
{
	if (diag_wanted(DOFI_LOG_WARN))
		diag_ep_failed(ep, "the peer has another secret, or is not the intended one",
			       SAME_SECRET "at both sides");
}

void dofi_diag_secret(const union dofi_addr *peer, uint16_t port, const char *why,
		      const char *where)
{
	char text[DOFI_ADDR_TEXT];

	if (diag_wanted(DOFI_LOG_WARN))
		dofi_log(DOFI_LOG_WARN, "rejected %s: %s; try: " SAME_SECRET "%s",
			 dofi_addr_text(peer, port, text, sizeof(text)), why, where);
}

void dofi_diag_passed_on(const union dofi_addr *peer, uint16_t port, const union dofi_addr *to)
{
	char text[DOFI_ADDR_TEXT], meant[DOFI_ADDR_TEXT];

	if (diag_wanted(DOFI_LOG_WARN))
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it shares a secret and connects to %s, which "
			 "is no address of this adapter; try: no translation of addresses between "
			 "the two",
			 dofi_addr_text(peer, port, text, sizeof(text)),
			 dofi_addr_text(to, 0, meant, sizeof(meant)));
}

void dofi_diag_no_proof(const union dofi_addr *peer, uint16_t port, unsigned int how_many)
{
	char text[DOFI_ADDR_TEXT];

	if (diag_wanted(DOFI_LOG_WARN))
		dofi_log(DOFI_LOG_WARN,
			 "%u peers, the last one %s, went away without knowing the "
			 "secret; try: " SAME_SECRET "at both sides",
			 how_many, dofi_addr_text(peer, port, text, sizeof(text)));
}

void dofi_diag_connected(const struct dofi_ep *ep)
{
	char text[DOFI_ADDR_TEXT];

	if (diag_wanted(DOFI_LOG_DEBUG))
		dofi_log(DOFI_LOG_DEBUG, "connected to %s over %s",
			 dofi_addr_text(&ep->remote, ep->remote_port, text, sizeof(text)),
			 ep->obj.ia->fab.desc->name);
}

void dofi_diag_bad_message(const struct dofi_ia *ia, const union dofi_addr *peer, uint16_t port,
			   size_t len, const struct dofi_cm_msg *msg, int err, int version)
{
	char text[DOFI_ADDR_TEXT];

	if (!diag_wanted(DOFI_LOG_WARN))
		return;
	dofi_addr_text(peer, port, text, sizeof(text));
	if (err == -EPROTONOSUPPORT)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected version %d of the protocol, got "
			 "another; try: the same release of this library at both sides",
			 text, version);
	else if (err == -EPROTO)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: a peer of another library, it does not speak "
			 "this protocol (%zu bytes of connection data); try: this library at both "
			 "sides",
			 text, len);
	else if (err == -ENODEV)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a peer over %s, got one over %s; "
			 "try: " SAME_FABRIC,
			 text, ia->fab.desc->name, dofi_fab_name(msg->fabric));
	else
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: its connection message of %zu bytes is "
			 "malformed",
			 text, len);
}

void dofi_diag_request(const struct dofi_listener *l, const union dofi_addr *peer, uint16_t port,
		       DAT_CONN_QUAL qual, unsigned int reason)
{
	enum dofi_log_level level = reason ? DOFI_LOG_WARN : DOFI_LOG_DEBUG;
	char text[DOFI_ADDR_TEXT];

	if (!diag_wanted(level))
		return;
	dofi_addr_text(peer, port, text, sizeof(text));
	switch (reason) {
	case 0:
		dofi_log(level, "%s requests a connection (port %u, qualifier %" PRIu64 ") over %s",
			 text, l->port, (uint64_t)qual, l->ia->fab.desc->name);
		break;
	case DOFI_CM_NO_LISTENER:
		dofi_log(level,
			 "rejected %s: no service point has qualifier %" PRIu64
			 " (port %u, %s); try: dat_psp_create before the peer connects, and the "
			 "same qualifier at both sides",
			 text, (uint64_t)qual, l->port, l->ia->fab.desc->name);
		break;
	case DOFI_CM_BACKLOG:
		dofi_log(level,
			 "rejected %s: the EVD of qualifier %" PRIu64 " (port %u, %s) has no "
			 "room for its request; try: a longer EVD, or take requests sooner",
			 text, (uint64_t)qual, l->port, l->ia->fab.desc->name);
		break;
	case DOFI_CM_VERSION_OTHER:
		break; /* dofi_diag_bad_message */
	default:
		dofi_log(level,
			 "rejected %s: no memory or descriptors for its request (qualifier %" PRIu64
			 ", port %u, %s); try: ulimit -n",
			 text, (uint64_t)qual, l->port, l->ia->fab.desc->name);
		break;
	}
}
