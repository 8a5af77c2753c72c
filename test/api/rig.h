/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the fixture of most cases: an IA, memory, two endpoints, and checks of their events. */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "api.h"

#define US_SHORT 50000u   /* long enough to see that no event arrives */
#define US_ASK 5000u      /* a queue is polled for this time before a wait */
#define US_EVENT 5000000u /* longer than any event may take */
#define US_CONNECT 10000000u

/* ---- an IA with a protection zone ---- */

struct node {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
};

void node_open(struct node *n);
void node_open_name(struct node *n, const char *name);
/* Closes gracefully, which fails if the case leaked an object. */
void node_close(struct node *n);
void node_abort(struct node *n);

/* fork(). AddressSanitizer (gcc 12) does not lock its allocator meanwhile: if another thread is in
 * it, the child waits indefinitely when it allocates, or checks for leaks at its exit. With it,
 * waits until the threads of the library have nothing to do. */
pid_t fork_when_idle(void);

/* Makes a TAP interface in this network namespace, or skips the case. Returns its descriptor. */
int tap_make(const char *netdev);
/* Enters a network namespace with `lo` and such an interface, on which no packet is answered. */
int deaf_network(const char *netdev, const char *address);
/* Gives the interface, or a label of it, an address. */
void deaf_address(const char *label, const char *address);

DAT_EVD_HANDLE evd_make(struct node *n, DAT_COUNT qlen, int flags);
DAT_EVD_HANDLE evd_make_cno(struct node *n, DAT_COUNT qlen, int flags, DAT_CNO_HANDLE cno);

/* ---- registered memory ---- */

struct buf {
	char *mem;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT ctx;
	DAT_RMR_CONTEXT rmr;
};

#define PRIV_ALL ((DAT_MEM_PRIV_FLAGS)0x33)
#define PRIV_LOCAL ((DAT_MEM_PRIV_FLAGS)0x11)

void buf_make(struct buf *b, struct node *n, size_t len, int priv);
/* Registers existing memory in a given PZ. */
void buf_register(struct buf *b, struct node *n, DAT_PZ_HANDLE pz, void *mem, size_t len, int priv);
void buf_unregister(struct buf *b);
void buf_free(struct buf *b);

/* Position-dependent bytes, different for each seed. */
void fill(void *mem, size_t len, unsigned int seed);
bool is_filled(const void *mem, size_t len, unsigned int seed);
void check_fill(const char *file, int line, const void *mem, size_t len, unsigned int seed);
#define CHECK_FILL(mem_, len_, seed_) check_fill(__FILE__, __LINE__, mem_, len_, seed_)
/*
 * Checks the data of a completed write: over iWARP a write completes when the transport has
 * accepted it, and the data arrives later.
 */
#define CHECK_WRITTEN(mem_, len_, seed_) \
	do { \
		if (fabric_is("iwarp")) \
			DT_UNTIL(is_filled(mem_, len_, seed_), US_EVENT); \
		CHECK_FILL(mem_, len_, seed_); \
	} while (0)

DAT_LMR_TRIPLET seg(const struct buf *b, size_t off, size_t len);
DAT_RMR_TRIPLET rem(const struct buf *b, size_t off, size_t len);
DAT_RMR_TRIPLET rem_raw(uint64_t addr, size_t len, DAT_RMR_CONTEXT ctx);
DAT_DTO_COOKIE ck(uint64_t value);

/* ---- an endpoint with its queues and memory ---- */

struct side {
	struct node *node;
	DAT_EVD_HANDLE recv, req, conn;
	DAT_EP_HANDLE ep;
	struct buf buf;
};

#define SIDE_BUF 65536

void side_make(struct side *s, struct node *n, const DAT_EP_ATTR *attr);
void side_free(struct side *s);
DAT_EP_STATE side_state(const struct side *s);
/* The default attributes of an endpoint of this IA. */
DAT_EP_ATTR default_attr(struct node *n);

DAT_RETURN post_recv(struct side *s, size_t off, size_t len, uint64_t cookie);
DAT_RETURN post_send(struct side *s, size_t off, size_t len, uint64_t cookie);
DAT_RETURN post_send_flags(struct side *s, size_t off, size_t len, uint64_t cookie, int flags);
DAT_RETURN post_write(struct side *s, size_t off, size_t len, uint64_t cookie,
		      const struct side *target, size_t target_off);
DAT_RETURN post_read(struct side *s, size_t off, size_t len, uint64_t cookie,
		     const struct side *target, size_t target_off);

/*
 * Posts sends (cookies from 9000) of more bytes than any buffer between two endpoints holds, so
 * that some stay outstanding until the peer posts receives of BLOCK_LEN.
 */
#define BLOCK_LEN ((size_t)4 << 20)
#define BLOCK_COUNT 8
void block_sends(struct side *s, struct buf *big);

/* ---- two endpoints of one IA ---- */

struct pair {
	struct node node;
	struct side a, b; /* a connects, b accepts */
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

void pair_open(struct pair *p);
void pair_open_attr(struct pair *p, const DAT_EP_ATTR *attr_a, const DAT_EP_ATTR *attr_b);
void pair_open_name(struct pair *p, const char *name);
/* Connects; both sides have read ESTABLISHED. */
void pair_connect(struct pair *p);
/* a connects; b has the request. */
DAT_CR_HANDLE pair_request(struct pair *p);
/* pair_open and pair_connect. */
void pair_up(struct pair *p);
/* a disconnects abruptly; both sides have read DISCONNECTED. */
void pair_disconnect(struct pair *p);
/* Frees the pair in any state; closes the IA gracefully. */
void pair_close(struct pair *p);
/*
 * The target rejected operation 5 of a, and both sides have read the end of the connection. An
 * iWARP target only ends the connection; a write may have completed at its sender.
 */
void refusal(struct pair *p, enum op op);

/* A connect without a listener fails at the first attempt; call it before the IA is opened. */
void set_no_connect_retry(void);
DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual);
/* A qualifier without a listener; `evd` takes connection requests. */
DAT_CONN_QUAL free_qual(struct node *n, DAT_EVD_HANDLE evd);

/* ---- events: every field is checked ---- */

static inline const DAT_DTO_COMPLETION_EVENT_DATA *dto_of(const DAT_EVENT *ev)
{
	return &ev->event_data.dto_completion_event_data;
}

static inline DAT_CR_HANDLE cr_of(const DAT_EVENT *ev)
{
	return ev->event_data.cr_arrival_event_data.cr_handle;
}

static inline uintptr_t number_of(const DAT_EVENT *ev)
{
	return (uintptr_t)ev->event_data.software_event_data.pointer;
}

/* What the progress threads of this process add to the time (t_evd_clock.c). */
extern _Atomic unsigned int progress_ahead_s;
bool is_progress_thread(void);

/* Polls an empty queue until the progress thread leaves progress to the poller. */
void poll_idle(DAT_EVD_HANDLE evd);

void ev_next(const char *file, int line, DAT_EVD_HANDLE evd, DAT_EVENT *ev);
DAT_CONNECTION_EVENT_DATA ev_conn(const char *file, int line, DAT_EVD_HANDLE evd,
				  DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep);
DAT_CR_HANDLE ev_cr(const char *file, int line, DAT_EVD_HANDLE evd, DAT_HANDLE sp,
		    DAT_CONN_QUAL qual);
void ev_dto(const char *file, int line, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
	    enum op op, DAT_DTO_COMPLETION_STATUS status, size_t len);
void ev_none(const char *file, int line, DAT_EVD_HANDLE evd, uint32_t us);
void check_dto(const char *file, int line, const DAT_EVENT *ev, DAT_EVD_HANDLE evd,
	       DAT_EP_HANDLE ep, uint64_t cookie, enum op op, DAT_DTO_COMPLETION_STATUS status,
	       size_t len);

/* The completion of an event that was read already. */
#define CHECK_DTO(ev_, evd_, ep_, cookie_, op_, len_) \
	check_dto(__FILE__, __LINE__, ev_, evd_, ep_, cookie_, op_, DAT_DTO_SUCCESS, len_)
#define EV_NEXT(evd_, ev_) ev_next(__FILE__, __LINE__, evd_, ev_)
#define EV_CONN(evd_, number_, ep_) \
	ev_conn(__FILE__, __LINE__, evd_, DAT_CONNECTION_EVENT_##number_, ep_)
#define EV_CR(evd_, sp_, qual_) ev_cr(__FILE__, __LINE__, evd_, sp_, qual_)
#define EV_DTO(evd_, ep_, cookie_, op_, len_) \
	ev_dto(__FILE__, __LINE__, evd_, ep_, cookie_, op_, DAT_DTO_SUCCESS, len_)
#define EV_DTO_STATUS(evd_, ep_, cookie_, op_, status_) \
	ev_dto(__FILE__, __LINE__, evd_, ep_, cookie_, op_, status_, 0)
#define EV_FLUSH(evd_, ep_, cookie_, op_) \
	ev_dto(__FILE__, __LINE__, evd_, ep_, cookie_, op_, DAT_DTO_ERR_FLUSHED, 0)
/* No event is queued / no event arrives for a while. */
#define EV_EMPTY(evd_) ev_none(__FILE__, __LINE__, evd_, 0)
#define EV_NONE(evd_) ev_none(__FILE__, __LINE__, evd_, US_SHORT)

/* The number of queued events, without removing any. The queue must not be full. */
DAT_COUNT ev_queued(DAT_EVD_HANDLE evd);
/* Posts a software event with a number. */
DAT_RETURN post_se(DAT_EVD_HANDLE evd, uintptr_t number);
void ev_se(const char *file, int line, DAT_EVD_HANDLE evd, uintptr_t number);
#define EV_SE(evd_, number_) ev_se(__FILE__, __LINE__, evd_, number_)

/* True if a line of the log, which the case has put in the place of stderr, contains the text. */
bool log_has(FILE *log, const char *text);

#endif
