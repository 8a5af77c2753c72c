/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares DAT helpers for players: opening, connecting, posting, and a ledger of operations.
 *
 * Compiled for either API version (RL_API is 1 or 2). A function whose result does not report
 * failures ends the player on an unexpected result.
 */
#ifndef RDAT_H
#define RDAT_H

#if RL_API == 1
#include <dat/udat.h>
#else
#include <dat2/udat.h>
#endif

#include "rlib.h"

enum {
	RD_MERGED = 1, /* one EVD for connection, receive and request events */
	RD_CNO = 2,    /* all EVDs but the asynchronous one on one CNO */
};

struct rd {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr, conn, recv, req;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	struct sockaddr_storage addr; /* of the IA */
};

struct rd_mem {
	void *p;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lctx;
	DAT_RMR_CONTEXT rctx;
};

const char *rd_text(DAT_RETURN ret);
const char *rd_event_text(DAT_EVENT_NUMBER number);
void rd_check(DAT_RETURN ret, const char *what, const char *file, int line);
#define RD_OK(call) rd_check((call), #call, __FILE__, __LINE__)

void rd_open(struct rd *rd, unsigned int flags, int qlen);
/* Frees what rd_open and the functions below have put into *rd, and closes gracefully. */
void rd_close(struct rd *rd);
/* Opens and closes once, so that permanent allocations of libraries are made before counting. */
void rd_warm_up(void);
DAT_EP_HANDLE rd_ep_create(struct rd *rd, int dtos);
/* With receives from an SRQ, unless that is DAT_HANDLE_NULL. */
DAT_EP_HANDLE rd_ep_create_srq(struct rd *rd, int dtos, DAT_SRQ_HANDLE srq);
DAT_EP_STATE rd_state(DAT_EP_HANDLE ep);
void rd_reg(struct rd *rd, struct rd_mem *mem, void *p, size_t len);
void rd_unreg(struct rd_mem *mem);
/* Publishes memory number n on the board. */
void rd_show(int n, const struct rd_mem *mem);

/* Listens on any qualifier and publishes it, with the address, on the board. */
void rd_listen(struct rd *rd);
/* Starts to connect to the service point on the board. */
void rd_connect(struct rd *rd, DAT_EP_HANDLE ep, unsigned int timeout_ms, const void *priv,
		int len);
/* Waits for the next connection request. */
DAT_CR_HANDLE rd_request(struct rd *rd, unsigned int ms);
DAT_RETURN rd_reject(DAT_CR_HANDLE cr);
/* Both sides until ESTABLISHED. */
void rd_connect_up(struct rd *rd, DAT_EP_HANDLE ep);
void rd_accept_up(struct rd *rd, DAT_EP_HANDLE ep);
/* Of two sides, number 0 listens and announces it by that step, and the other one connects. */
void rd_meet(struct rd *rd, DAT_EP_HANDLE ep, int side, int listens);

/* The next event within `ms` milliseconds; false if there is none. */
bool rd_next(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *ev);
/* The same within the time limit rl_limit(ms). */
bool rd_await(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *ev);
bool rd_poll(DAT_EVD_HANDLE evd, DAT_EVENT *ev);
void rd_expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, unsigned int ms, DAT_EVENT *ev);
/* The next event is a successful completion with that cookie. */
void rd_expect_dto(DAT_EVD_HANDLE evd, uint64_t cookie, unsigned int ms);

/* Triplets of one segment: of our memory, and of a peer's. */
DAT_LMR_TRIPLET rd_segment(const struct rd_mem *mem, size_t off, size_t len);
DAT_RMR_TRIPLET rd_remote(uint32_t rctx, uint64_t va, size_t len);
/* Posts of one segment. */
DAT_RETURN rd_send(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie);
DAT_RETURN rd_recv(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie);
/* Remote memory: number n on the board. */
DAT_RETURN rd_write(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		    uint64_t cookie, int n, size_t remote_off);
DAT_RETURN rd_read(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie, int n, size_t remote_off);
DAT_RETURN rd_rdma(DAT_EP_HANDLE ep, bool write, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie, uint64_t va, uint32_t rctx);

/*
 * The ledger: every operation posted through it must complete exactly once, and the connection
 * events must match a given sequence of letters: E established, P peer rejected, N non-peer
 * rejected, A accept completion error, D disconnected, B broken, T timed out, U unreachable.
 */
enum rd_kind { RD_SEND, RD_RECV, RD_WRITE, RD_READ };

#define RD_OPS 64

struct rd_ledger {
	DAT_EP_HANDLE ep;
	unsigned int posted, completed, flushed;
	struct {
		enum rd_kind kind;
		unsigned int got;
		int status;
		size_t len;
	} op[RD_OPS];
	char conn[8];
	bool ended;             /* an event that ends the connection was seen */
	bool success_after_end; /* a success was read after it */
};

/* The index of the operation. */
unsigned int rd_post(struct rd_ledger *l, enum rd_kind kind, const struct rd_mem *mem, size_t off,
		     size_t len, int remote, size_t remote_off);
void rd_ledger_add(struct rd_ledger *l, const DAT_EVENT *ev);
/* Adds all pending events to the ledger; returns their number. */
int rd_drain(struct rd *rd, struct rd_ledger *l);
/* True if the connection events equal one of the alternatives, such as "D|B|ED". */
bool rd_conn_events_match(const struct rd_ledger *l, const char *alternatives);
bool rd_complete(const struct rd_ledger *l, const char *alternatives);
/* What is missing or unexpected, for messages. */
const char *rd_ledger_text(const struct rd_ledger *l);
/* Checks the order: completions of a direction succeed up to a point and are flushed after it. */
void rd_check_order(const struct rd_ledger *l);

#endif
