/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive side of the secret-protected handshake: answers HELLO and stores the handshake until
 * REQUEST arrives.
 *
 * The number of stored handshakes is limited: if the table is full, the oldest entry is dropped,
 * and its client starts again. An entry serves one request.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/param.h"
#include "cm/cm_hello.h"
#include "cm/diag_cm.h"
#include "fabric/fab_info.h"
#include "object/progress_wakeup.h"
#include "msgep/cm/cm.h"

#define ENTRIES 256

struct entry {
	uint64_t until; /* 0: free */
	struct dofi_seal seal;
	struct dofi_cm_msg msg;
	uint16_t port; /* of the listener */
	union dofi_addr from;
	uint16_t from_port;
};

struct dofi_cm_hellos {
	struct dofi_timer timer;
	struct dofi_ia *ia;
	unsigned int next; /* entry to be used next: the oldest */
	struct entry entry[ENTRIES];
};

/* Logs the clients that sent no REQUEST, as with a wrong secret: one message for all. */
static void cm_hello_expire(struct dofi_timer *timer)
{
	struct dofi_cm_hellos *g = dofi_container(timer, struct dofi_cm_hellos, timer);
	uint64_t now = dofi_now(), next = DOFI_NEVER;
	const struct entry *last = NULL;
	unsigned int gone = 0;

	for (unsigned int i = 0; i < ENTRIES; i++) {
		struct entry *e = &g->entry[i];

		if (e->until && e->until <= now) {
			e->until = 0;
			last = e;
			gone++;
		} else if (e->until && e->until < next) {
			next = e->until;
		}
	}
	if (last)
		dofi_diag_no_proof(&last->from, last->from_port, gone);
	if (next != DOFI_NEVER)
		dofi_timer_arm(&g->ia->timers, timer, next);
}

static struct dofi_cm_hellos *cm_hello_greetings(struct dofi_ia *ia)
{
	struct dofi_cm_hellos *g = ia->hellos;

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g || dofi_cm_timer_init(ia, &g->timer, cm_hello_expire)) {
		free(g);
		return NULL;
	}
	g->ia = ia;
	ia->hellos = g;
	return g;
}

void dofi_cm_hello_fini(struct dofi_ia *ia)
{
	if (!ia->hellos)
		return;
	dofi_timer_cancel(&ia->timers, &ia->hellos->timer);
	dofi_cm_timer_fini(ia);
	free(ia->hellos);
	ia->hellos = NULL;
}

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
					 const void *data, size_t len, struct entry *e)
{
	union dofi_addr to;
	struct dofi_sp *sp;
	int ret;

	dofi_cm_read_peer(info, &e->from, &e->from_port);
	ret = dofi_seal_open_hello(&e->seal, data, len, &e->msg, &to);
	if (!ret && !dofi_cm_fabrics_match(e->msg.fabric, l->ia->fab.desc->wire_id))
		ret = -ENODEV;
	if (ret) {
		dofi_diag_bad_message(l->ia, &e->from, e->from_port, len, &e->msg, ret,
				      DOFI_SEAL_VERSION);
		return DOFI_CM_VERSION_OTHER;
	}
	if (!l->ia->fab.secret) {
		dofi_diag_secret(&e->from, e->from_port, "it expects a secret", "here");
		return DOFI_CM_NO_SECRET;
	}
	if (!cm_hello_is_for_us(l, info, &to, &e->from)) {
		dofi_diag_passed_on(&e->from, e->from_port, &to);
		return DOFI_CM_SECRET_OTHER;
	}
	e->port = l->port;
	sp = dofi_sp_find(l, e->msg.qual);
	if (sp && !sp->spent)
		return 0;
	dofi_diag_request(l, &e->from, e->from_port, e->msg.qual, DOFI_CM_NO_LISTENER);
	return DOFI_CM_NO_LISTENER;
}

void dofi_cm_hello_received(struct dofi_listener *l, struct fi_info *info, const void *data,
			    size_t len)
{
	struct dofi_ia *ia = l->ia;
	struct dofi_cm_hellos *g;
	uint8_t buf[DOFI_CM_MAX];
	struct entry e;
	unsigned int reason = cm_hello_check_hello(l, info, data, len, &e);
	size_t n;

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	if (reason) {
		dofi_cm_refuse(l, info, reason, NULL, 0);
		return;
	}
	g = cm_hello_greetings(ia);
	n = g ? dofi_seal_challenge(&e.seal, ia->fab.secret, buf) : 0;
	if (!n) {
		dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
		return;
	}
	e.until = dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
	g->entry[g->next] = e;
	g->next = (g->next + 1) % ENTRIES;
	fi_reject(l->pep, info->handle, buf, n);
	dofi_fab_info_free(&ia->fab, info);
	if (g->timer.when == DOFI_NEVER) {
		dofi_timer_arm(&ia->timers, &g->timer, e.until);
		dofi_progress_wakeup(ia);
	}
}

unsigned int dofi_cm_admit(struct dofi_listener *l, const struct fi_info *info, const void *data,
			   size_t len, struct dofi_cm_msg *msg, struct dofi_seal *seal)
{
	struct dofi_cm_hellos *g = l->ia->hellos;
	const struct dofi_sealer by = dofi_sealer_of(&l->ia->fab);
	union dofi_addr from;
	uint16_t port;
	size_t priv;

	dofi_cm_read_peer(info, &from, &port);
	for (unsigned int i = 0; g && i < ENTRIES; i++) {
		struct entry *e = &g->entry[i];

		if (!e->until || e->port != l->port ||
		    !dofi_addr_same_host(&e->from.sa, &from.sa) ||
		    dofi_seal_open_request(&e->seal, &by, data, len, &priv))
			continue;
		e->until = 0;
		*msg = e->msg;
		msg->priv = (const uint8_t *)data + 1;
		msg->priv_len = (uint16_t)priv;
		*seal = e->seal;
		return 0;
	}
	dofi_diag_secret(&from, port,
			 "its request is not sealed with the secret of a pending "
			 "handshake",
			 "at both sides");
	return DOFI_CM_SECRET_OTHER;
}
