/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets up an IA, memory and endpoints for a case, and frees them. */
#include "rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

pid_t fork_when_idle(void)
{
#ifdef __SANITIZE_ADDRESS__
	dt_sleep_us(US_SHORT);
#endif
	return fork();
}

int tap_make(const char *netdev)
{
	int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	struct ifreq ifr;

	if (tap < 0)
		dt_skip("/dev/net/tun: %s", strerror(errno));
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", netdev);
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI;
	if (ioctl(tap, TUNSETIFF, &ifr) != 0)
		dt_skip("no TAP interface: %s", strerror(errno));
	return tap;
}

static void set_address(int sock, struct ifreq *ifr, unsigned long request, const char *text)
{
	struct sockaddr_in sin;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, text, &sin.sin_addr), 1);
	memcpy(&ifr->ifr_addr, &sin, sizeof(sin));
	ASSERT_EQ(ioctl(sock, request, ifr), 0);
}

static void set_up(const char *name)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr;

	ASSERT(sock >= 0);
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	ifr.ifr_flags = IFF_UP | IFF_RUNNING;
	ASSERT_EQ(ioctl(sock, SIOCSIFFLAGS, &ifr), 0);
	close(sock);
}

void deaf_address(const char *label, const char *address)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr;

	ASSERT(sock >= 0);
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", label);
	set_address(sock, &ifr, SIOCSIFADDR, address);
	set_address(sock, &ifr, SIOCSIFNETMASK, "255.255.255.0");
	close(sock);
}

int deaf_network(const char *netdev, const char *address)
{
	int tap;

	if (unshare(CLONE_NEWNET) != 0)
		dt_skip("cannot create a network namespace: %s", strerror(errno));
	tap = tap_make(netdev);
	deaf_address(netdev, address);
	set_up(netdev);
	set_up("lo");
	return tap;
}

void node_open_name(struct node *n, const char *name)
{
	memset(n, 0, sizeof(*n));
	n->async = DAT_HANDLE_NULL;
	OK(dat_ia_open((char *)(uintptr_t)name, 8, &n->async, &n->ia));
	OK(dat_ia_query(n->ia, NULL, DAT_IA_FIELD_ALL, &n->attr, DAT_PROVIDER_FIELD_ALL, &n->prov));
	OK(dat_pz_create(n->ia, &n->pz));
}

void node_open(struct node *n)
{
	node_open_name(n, ia_name());
}

void node_close(struct node *n)
{
	if (n->pz)
		OK(dat_pz_free(n->pz));
	OK(dat_ia_close(n->ia, DAT_CLOSE_GRACEFUL_FLAG));
	n->ia = NULL;
}

void node_abort(struct node *n)
{
	OK(dat_ia_close(n->ia, DAT_CLOSE_ABRUPT_FLAG));
	n->ia = NULL;
}

DAT_EVD_HANDLE evd_make_cno(struct node *n, DAT_COUNT qlen, int flags, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = NULL;

	OK(dat_evd_create(n->ia, qlen, cno, (DAT_EVD_FLAGS)flags, &evd));
	ASSERT(evd != NULL);
	return evd;
}

DAT_EVD_HANDLE evd_make(struct node *n, DAT_COUNT qlen, int flags)
{
	return evd_make_cno(n, qlen, flags, NULL);
}

void buf_register(struct buf *b, struct node *n, DAT_PZ_HANDLE pz, void *mem, size_t len, int priv)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size = 0;
	DAT_VADDR addr = 0;

	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	b->mem = mem;
	b->len = len;
	OK(api_lmr_create(n->ia, DAT_MEM_TYPE_VIRTUAL, region, len, pz, (DAT_MEM_PRIV_FLAGS)priv,
			  &b->lmr, &b->ctx, &b->rmr, &size, &addr));
	ASSERT(b->lmr != NULL && b->ctx != 0);
	ASSERT(addr <= (DAT_VADDR)(uintptr_t)mem);
	ASSERT(addr + size >= (DAT_VADDR)(uintptr_t)mem + len);
}

void buf_make(struct buf *b, struct node *n, size_t len, int priv)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(mem != MAP_FAILED);
	buf_register(b, n, n->pz, mem, len, priv);
}

void buf_unregister(struct buf *b)
{
	OK(dat_lmr_free(b->lmr));
	b->lmr = NULL;
}

void buf_free(struct buf *b)
{
	if (b->lmr)
		buf_unregister(b);
	ASSERT_EQ(munmap(b->mem, b->len), 0);
	b->mem = NULL;
}

static inline __attribute__((always_inline)) unsigned char pattern(size_t i, unsigned int seed)
{
	uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u;

	return (unsigned char)(x >> 24 ^ x >> 11);
}

/* Memory that a peer reads or writes: ThreadSanitizer does not see the synchronisation. */
#define NOT_WATCHED __attribute__((no_sanitize("thread")))

NOT_WATCHED void fill(void *mem, size_t len, unsigned int seed)
{
	unsigned char *p = mem;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

NOT_WATCHED bool is_filled(const void *mem, size_t len, unsigned int seed)
{
	const volatile unsigned char *p = mem;
	size_t i;

	for (i = 0; i < len && p[i] == pattern(i, seed); i++)
		;
	return i == len;
}

NOT_WATCHED void check_fill(const char *file, int line, const void *mem, size_t len,
			    unsigned int seed)
{
	const unsigned char *p = mem;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != pattern(i, seed))
			dt_fail(file, line, "byte %zu of %zu is %#x, not %#x", i, len, p[i],
				pattern(i, seed));
}

DAT_LMR_TRIPLET seg(const struct buf *b, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t;

	memset(&t, 0, sizeof(t));
	t.lmr_context = b->ctx;
	t.virtual_address = (DAT_VADDR)(uintptr_t)b->mem + off;
	t.segment_length = (seg_len_t)len;
	return t;
}

DAT_RMR_TRIPLET rem_raw(uint64_t addr, size_t len, DAT_RMR_CONTEXT ctx)
{
	DAT_RMR_TRIPLET t;

	memset(&t, 0, sizeof(t));
	t.rmr_context = ctx;
	api_rmr_addr(&t, addr);
	t.segment_length = (seg_len_t)len;
	return t;
}

DAT_RMR_TRIPLET rem(const struct buf *b, size_t off, size_t len)
{
	return rem_raw((uintptr_t)b->mem + off, len, b->rmr);
}

DAT_DTO_COOKIE ck(uint64_t value)
{
	DAT_DTO_COOKIE c;

	c.as_64 = value;
	return c;
}

#define DTO_EVD (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

void side_make(struct side *s, struct node *n, const DAT_EP_ATTR *attr)
{
	memset(s, 0, sizeof(*s));
	s->node = n;
	s->recv = evd_make(n, 64, DTO_EVD);
	s->req = evd_make(n, 64, DTO_EVD);
	s->conn = evd_make(n, 8, DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(n->ia, n->pz, s->recv, s->req, s->conn, attr, &s->ep));
	buf_make(&s->buf, n, SIDE_BUF, PRIV_ALL);
}

void side_free(struct side *s)
{
	if (s->ep)
		OK(dat_ep_free(s->ep));
	OK(dat_evd_free(s->recv));
	OK(dat_evd_free(s->req));
	OK(dat_evd_free(s->conn));
	buf_free(&s->buf);
}

DAT_EP_STATE side_state(const struct side *s)
{
	DAT_EP_STATE state;

	OK(dat_ep_get_status(s->ep, &state, NULL, NULL));
	return state;
}

DAT_EP_ATTR default_attr(struct node *n)
{
	DAT_EVD_HANDLE evd = evd_make(n, 64, DTO_EVD);
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	OK(dat_ep_create(n->ia, n->pz, evd, evd, NULL, NULL, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	return param.ep_attr;
}

DAT_RETURN post_recv(struct side *s, size_t off, size_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, off, len);

	return dat_ep_post_recv(s->ep, 1, &t, ck(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_send_flags(struct side *s, size_t off, size_t len, uint64_t cookie, int flags)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, off, len);

	return dat_ep_post_send(s->ep, 1, &t, ck(cookie), (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN post_send(struct side *s, size_t off, size_t len, uint64_t cookie)
{
	return post_send_flags(s, off, len, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_write(struct side *s, size_t off, size_t len, uint64_t cookie,
		      const struct side *target, size_t target_off)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, off, len);
	DAT_RMR_TRIPLET r = rem(&target->buf, target_off, len);

	return dat_ep_post_rdma_write(s->ep, 1, &t, ck(cookie), &r, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_read(struct side *s, size_t off, size_t len, uint64_t cookie,
		     const struct side *target, size_t target_off)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, off, len);
	DAT_RMR_TRIPLET r = rem(&target->buf, target_off, len);

	return dat_ep_post_rdma_read(s->ep, 1, &t, ck(cookie), &r, DAT_COMPLETION_DEFAULT_FLAG);
}

void block_sends(struct side *s, struct buf *big)
{
	DAT_LMR_TRIPLET t;
	uint64_t i;

	buf_make(big, s->node, BLOCK_LEN, PRIV_ALL);
	t = seg(big, 0, BLOCK_LEN);
	for (i = 0; i < BLOCK_COUNT; i++)
		OK(dat_ep_post_send(s->ep, 1, &t, ck(9000 + i), DAT_COMPLETION_DEFAULT_FLAG));
}

static void pair_build(struct pair *p, const DAT_EP_ATTR *attr_a, const DAT_EP_ATTR *attr_b)
{
	side_make(&p->a, &p->node, attr_a);
	side_make(&p->b, &p->node, attr_b);
	p->cr_evd = evd_make(&p->node, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(p->node.ia, &p->qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &p->psp));
}

void pair_open_attr(struct pair *p, const DAT_EP_ATTR *attr_a, const DAT_EP_ATTR *attr_b)
{
	memset(p, 0, sizeof(*p));
	node_open(&p->node);
	pair_build(p, attr_a, attr_b);
}

void pair_open_name(struct pair *p, const char *name)
{
	memset(p, 0, sizeof(*p));
	node_open_name(&p->node, name);
	pair_build(p, NULL, NULL);
}

void pair_open(struct pair *p)
{
	pair_open_attr(p, NULL, NULL);
}

DAT_CONN_QUAL free_qual(struct node *n, DAT_EVD_HANDLE evd)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	OK(dat_psp_create_any(n->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
	return qual;
}

void set_no_connect_retry(void)
{
	setenv("DAPL_OFI_CONNECT_RETRY_MS", "0", 1);
}

DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(ep, addr, qual, US_CONNECT * dt_slow(), 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE pair_request(struct pair *p)
{
	OK(connect_to(p->a.ep, p->node.attr.ia_address_ptr, p->qual));
	return EV_CR(p->cr_evd, p->psp, p->qual);
}

void pair_connect(struct pair *p)
{
	DAT_CR_HANDLE cr = pair_request(p);

	OK(dat_cr_accept(cr, p->b.ep, 0, NULL));
	EV_CONN(p->b.conn, ESTABLISHED, p->b.ep);
	EV_CONN(p->a.conn, ESTABLISHED, p->a.ep);
}

void pair_up(struct pair *p)
{
	pair_open(p);
	pair_connect(p);
}

void pair_disconnect(struct pair *p)
{
	OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p->a.conn, DISCONNECTED, p->a.ep);
	EV_CONN(p->b.conn, DISCONNECTED, p->b.ep);
}

void pair_close(struct pair *p)
{
	if (p->psp)
		OK(dat_psp_free(p->psp));
	/* Frees endpoints before the memory and the queues that they use. */
	if (p->b.ep)
		OK(dat_ep_free(p->b.ep));
	p->b.ep = NULL;
	side_free(&p->a);
	side_free(&p->b);
	OK(dat_evd_free(p->cr_evd));
	node_close(&p->node);
}

void refusal(struct pair *p, enum op op)
{
	DAT_EVENT ev;

	if (!fabric_is("iwarp")) {
		EV_DTO_STATUS(p->a.req, p->a.ep, 5, op, DAT_DTO_ERR_REMOTE_ACCESS);
		EV_CONN(p->a.conn, BROKEN, p->a.ep);
	} else {
		EV_NEXT(p->a.req, &ev);
		ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, 5);
		if (op == OP_READ || dto_of(&ev)->status != DAT_DTO_SUCCESS)
			ASSERT(dto_of(&ev)->status == DAT_DTO_ERR_FLUSHED ||
			       dto_of(&ev)->status == DAT_DTO_ERR_LOCAL_EP);
		EV_NEXT(p->a.conn, &ev);
		ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		       ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
	}
	EV_NEXT(p->b.conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
}

bool log_has(FILE *log, const char *text)
{
	char line[1024];

	rewind(log);
	while (fgets(line, sizeof(line), log))
		if (strstr(line, text))
			return true;
	return false;
}
