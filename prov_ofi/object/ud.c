/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes the sockets of datagram endpoints; address handles; sources of messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "object/progress_key.h"
#include "object/ud.h"

#define AH_MAGIC 0xda70f1aau
#define CM_MAGIC 0xda70f1ccu

static struct dofi_slab slab = DOFI_SLAB_INIT(struct dofi_ah, 16, NULL);

/* ---------------------------------------------------------------- sockets */

static int ud_make_hosts(struct dofi_ia *ia)
{
	if (ia->ud_hosts)
		return 0;
	ia->ud_hosts = calloc(1, sizeof(*ia->ud_hosts));
	if (!ia->ud_hosts)
		return -ENOMEM;
	pthread_mutex_init(&ia->ud_hosts->lock, NULL);
	return 0;
}

/* Edge-triggered: with a posted receive arrivals are read at once, without one they wait. */
static int ud_watch(struct dofi_ep *ep, int op)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	ev.data.u64 = dofi_progress_key(ep, DOFI_KEY_UD);
	return epoll_ctl(ep->obj.ia->prog.epfd, op, ep->ud->sock.fd, &ev) ? -errno : 0;
}

int dofi_ud_open(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_ud *ud = calloc(1, sizeof(*ud));
	int ret = ud ? ud_make_hosts(ia) : -ENOMEM;

	if (ret) {
		free(ud);
		return ret;
	}
	dofi_list_init(&ud->exchanges);
	ret = dofi_dgram_open(&ud->sock, ia->fab.addr_named ? &ia->fab.addr : NULL);
	if (ret) {
		free(ud);
		return ret;
	}
	dofi_sock_set_dscp(ud->sock.fd, fi_tc_dscp_get(dofi_qos_tclass(ep->attr.qos)));
	ep->ud = ud;
	ret = ud_watch(ep, EPOLL_CTL_ADD);
	if (ret) {
		dofi_ud_close(ep);
		return ret;
	}
	ep->local_port = (uint16_t)ud->sock.qpn;
	/* Its completions wait for no connection. */
	ep->open = true;
	return 0;
}

void dofi_ud_close(struct dofi_ep *ep)
{
	struct dofi_ud *ud;

	dofi_lock(&ep->lock);
	ud = ep->ud;
	ep->ud = NULL;
	dofi_unlock(&ep->lock);
	if (!ud)
		return;
	epoll_ctl(ep->obj.ia->prog.epfd, EPOLL_CTL_DEL, ud->sock.fd, NULL);
	dofi_dgram_close(&ud->sock);
	free(ud);
}

void dofi_ud_rearm(struct dofi_ep *ep)
{
	ud_watch(ep, EPOLL_CTL_MOD);
}

/* ---------------------------------------------------------------- address handles */

/* Others may read them as those of the handle that the memory has been before. */
static void ah_set(struct dofi_ah *ah, struct dofi_ia *ia, const union dofi_addr *addr)
{
	uint32_t word[DOFI_AH_WORDS] = { 0 };
	uint32_t version = atomic_load_explicit(&ah->version, memory_order_relaxed);

	if (addr)
		memcpy(word, addr, sizeof(*addr));
	atomic_store_explicit(&ah->version, version + 1, memory_order_relaxed);
	atomic_store_explicit(&ah->ia, ia, memory_order_release);
	for (size_t i = 0; i < DOFI_AH_WORDS; i++)
		atomic_store_explicit(&ah->addr[i], word[i], memory_order_release);
	atomic_store_explicit(&ah->version, version + 2, memory_order_release);
}

struct dofi_ah *dofi_ah_new(struct dofi_ia *ia, const union dofi_addr *addr)
{
	struct dofi_ah *ah = dofi_slab_get(&slab, false);

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (!ah)
		return NULL;
	ah->qpn = 0;
	ah->type = 0;
	ah->priv_len = 0;
	dofi_list_append(&ia->ahs, &ah->link);
	ah_set(ah, ia, addr);
	atomic_store(&ah->cm_magic, CM_MAGIC);
	atomic_store(&ah->ah_magic, addr ? AH_MAGIC : 0);
	return ah;
}

/* Without cm_lock a live one can be freed at any time, and its memory become another one. */
static bool ah_is_live(const struct dofi_ia *ia, const struct dofi_ah *ah)
{
	return !((uintptr_t)ah & 7) && atomic_load(&ah->ah_magic) == AH_MAGIC &&
	       atomic_load(&ah->ia) == ia;
}

bool dofi_ah_address(const struct dofi_ia *ia, const void *p, union dofi_addr *addr)
{
	const struct dofi_ah *ah = p;
	uint32_t word[DOFI_AH_WORDS], version;

	do {
		version = atomic_load_explicit(&ah->version, memory_order_acquire);
		if (version & 1 || !ah_is_live(ia, ah))
			return false;
		for (size_t i = 0; i < DOFI_AH_WORDS; i++)
			word[i] = atomic_load_explicit(&ah->addr[i], memory_order_acquire);
	} while (atomic_load(&ah->version) != version);
	memcpy(addr, word, sizeof(*addr));
	return true;
}

/* Both parts are freed: the memory is, too. */
static void ah_put_if_over(struct dofi_ah *ah)
{
	if (atomic_load(&ah->ah_magic) || atomic_load(&ah->cm_magic))
		return;
	dofi_list_remove(&ah->link);
	dofi_slab_put(&slab, ah, false);
}

void dofi_ah_discard(struct dofi_ah *ah)
{
	DOFI_ASSERT_LOCKED(&ah->ia->cm_lock);
	atomic_store(&ah->ah_magic, 0);
	atomic_store(&ah->cm_magic, 0);
	ah_put_if_over(ah);
}

bool dofi_ah_free(struct dofi_ia *ia, const void *p)
{
	struct dofi_ah *ah = (struct dofi_ah *)(uintptr_t)p;
	bool ok;

	pthread_mutex_lock(&ia->cm_lock);
	ok = p && dofi_slab_owns(&slab, p) && ah_is_live(ia, ah);
	if (ok) {
		atomic_store(&ah->ah_magic, 0);
		ah_put_if_over(ah);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ok;
}

/* The context is the address of the second word, so that it differs from the handle. */
bool dofi_ah_free_cm(struct dofi_ia *ia, const void *p)
{
	uintptr_t at = (uintptr_t)p - offsetof(struct dofi_ah, cm_magic);
	struct dofi_ah *ah = (struct dofi_ah *)at;
	bool ok;

	pthread_mutex_lock(&ia->cm_lock);
	ok = p && dofi_slab_owns(&slab, ah) && atomic_load(&ah->cm_magic) == CM_MAGIC &&
	     atomic_load(&ah->ia) == ia;
	if (ok) {
		atomic_store(&ah->cm_magic, 0);
		ah_put_if_over(ah);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ok;
}

void dofi_ah_free_all(struct dofi_ia *ia)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ia->ahs)
	{
		struct dofi_ah *ah = dofi_container(pos, struct dofi_ah, link);

		atomic_store(&ah->ah_magic, 0);
		atomic_store(&ah->cm_magic, 0);
		ah_put_if_over(ah);
	}
	if (ia->ud_hosts)
		pthread_mutex_destroy(&ia->ud_hosts->lock);
	free(ia->ud_hosts);
	ia->ud_hosts = NULL;
}

/* ---------------------------------------------------------------- sources of messages */

/* The number of the host, which is entered if it is new; DOFI_UD_HOSTS: the table is full. */
static uint32_t ud_host_number(struct dofi_ud_hosts *hosts, const struct sockaddr_in6 *addr)
{
	uint32_t i, n;

	pthread_mutex_lock(&hosts->lock);
	n = atomic_load_explicit(&hosts->n, memory_order_relaxed);
	for (i = 0; i < n; i++)
		if (!memcmp(&hosts->addr[i].sin6_addr, &addr->sin6_addr, sizeof(addr->sin6_addr)) &&
		    hosts->addr[i].sin6_scope_id == addr->sin6_scope_id)
			break;
	if (i == n && n < DOFI_UD_HOSTS) {
		hosts->addr[n] = *addr;
		hosts->addr[n].sin6_flowinfo = 0;
		atomic_store_explicit(&hosts->n, n + 1, memory_order_release);
	}
	pthread_mutex_unlock(&hosts->lock);
	return i;
}

void dofi_ud_set_source(struct dofi_dto *dto, const union dofi_addr *from, uint32_t qpn)
{
	dto->source.qpn = qpn;
	dto->immed = from->sa.sa_family;
	if (from->sa.sa_family == AF_INET6)
		dto->source.host = ud_host_number(dto->ep->obj.ia->ud_hosts, &from->in6);
	else
		dto->source.host = from->in.sin_addr.s_addr;
}

void dofi_ud_get_source(struct dofi_ia *ia, const struct dofi_ud_source *source, uint32_t family,
			union dofi_addr *from)
{
	struct dofi_ud_hosts *hosts = ia->ud_hosts;

	memset(from, 0, sizeof(*from));
	if (family == AF_INET) {
		from->in.sin_family = AF_INET;
		from->in.sin_addr.s_addr = source->host;
	} else if (family == AF_INET6 && hosts &&
		   source->host < atomic_load_explicit(&hosts->n, memory_order_acquire)) {
		from->in6 = hosts->addr[source->host];
	}
}
