/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive side of the secret-protected handshake: answers HELLO and stores the handshake until
 * REQUEST arrives. An entry serves one request.
 */
#include <string.h>

#include "base/log.h"
#include "cm/cm_cr.h"
#include "cm/cm_hello.h"
#include "cm/diag_cm.h"
#include "cm/half_open.h"
#include "fabric/fab_info.h"
#include "msgep/cm/cm.h"

struct hello {
	struct dofi_half_open half_open;
	struct dofi_seal seal;
	struct dofi_cm_msg msg;
};

/* True if the client connects to this adapter. Otherwise the host at its destination address may be
 * forwarding its messages. */
static bool cm_hello_is_for_us(const struct dofi_listener *l, const struct fi_info *info,
			       const union dofi_addr *to, const union dofi_addr *from)
{
	union dofi_addr here;

	if (l->ia->fab.addr_named)
		return dofi_addr_same_host(&l->ia->fab.addr.sa, &to->sa);
	if (info->src_addr && info->src_addrlen <= sizeof(here)) {
		memset(&here, 0, sizeof(here));
		memcpy(&here, info->src_addr, info->src_addrlen);
		if (!dofi_addr_is_any(&here))
			return dofi_addr_same_host(&here.sa, &to->sa);
	}
	return dofi_addr_is_loopback(to) ? msgep_cm_is_here(from) : msgep_cm_is_here(to);
}

static unsigned int cm_hello_check_hello(struct dofi_listener *l, const struct fi_info *info,
					 const void *data, size_t len, struct hello *hello)
{
	union dofi_addr to, *from = &hello->half_open.from;
	uint16_t *port = &hello->half_open.from_port;
	struct dofi_sp *sp;
	int ret;

	dofi_cm_read_peer(info, from, port);
	ret = dofi_seal_open_hello(&hello->seal, data, len, &hello->msg, &to);
	if (!ret && !dofi_cm_fabrics_match(hello->msg.fabric, l->ia->fab.desc->wire_id))
		ret = -ENODEV;
	if (ret) {
		dofi_diag_bad_message(l->ia, from, *port, len, &hello->msg, ret, DOFI_SEAL_VERSION);
		return DOFI_CM_VERSION_OTHER;
	}
	if (!l->ia->fab.secret) {
		dofi_diag_secret(from, *port, "it expects a secret", "here");
		return DOFI_CM_NO_SECRET;
	}
	if (!cm_hello_is_for_us(l, info, &to, from)) {
		dofi_diag_passed_on(from, *port, &to);
		return DOFI_CM_SECRET_OTHER;
	}
	sp = dofi_sp_find(l, hello->msg.qual);
	if (sp && !sp->spent)
		return 0;
	dofi_diag_request(l, from, *port, hello->msg.qual, DOFI_CM_NO_LISTENER);
	return DOFI_CM_NO_LISTENER;
}

void dofi_cm_hello_received(struct dofi_listener *l, struct fi_info *info, const void *data,
			    size_t len)
{
	uint8_t buf[DOFI_CM_MAX];
	struct hello got, *e;
	unsigned int reason = cm_hello_check_hello(l, info, data, len, &got);
	size_t n;

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	if (reason) {
		dofi_cm_refuse(l, info, reason, NULL, 0);
		return;
	}
	n = dofi_seal_challenge(&got.seal, l->ia->fab.secret, buf);
	e = n ? dofi_half_open_add(l, DOFI_HALF_OPEN_HELLO, sizeof(*e), &got.half_open.from,
				   got.half_open.from_port)
	      : NULL;
	if (!e) {
		dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
		return;
	}
	e->seal = got.seal;
	e->msg = got.msg;
	fi_reject(l->pep, info->handle, buf, n);
	dofi_fab_info_free(&l->ia->fab, info);
}

unsigned int dofi_cm_admit(struct dofi_listener *l, const struct fi_info *info, const void *data,
			   size_t len, struct dofi_cm_msg *msg, struct dofi_seal *seal)
{
	const struct dofi_sealer by = dofi_sealer_of(&l->ia->fab);
	struct hello *e = NULL;
	union dofi_addr from;
	uint16_t port;
	size_t priv;

	dofi_cm_read_peer(info, &from, &port);
	while ((e = dofi_half_open_next(l, DOFI_HALF_OPEN_HELLO, &from, e))) {
		if (dofi_seal_open_request(&e->seal, &by, data, len, &priv))
			continue;
		*msg = e->msg;
		msg->priv = (const uint8_t *)data + 1;
		msg->priv_len = (uint16_t)priv;
		*seal = e->seal;
		dofi_half_open_drop(l->ia, e);
		return 0;
	}
	dofi_diag_secret(&from, port,
			 "its request is not sealed with the secret of a pending "
			 "handshake",
			 "at both sides");
	return DOFI_CM_SECRET_OTHER;
}
