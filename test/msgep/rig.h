/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the fixture of the cases of the connection manager. The connection manager is linked
 * alone; rig.c implements stubs of the other objects of prov_ofi/rdm: an event queue that keeps
 * events in a list, endpoints without data, and a transport that sends its name and (unix sockets)
 * a descriptor, and a final message.
 */
#ifndef MSGEP_RIG_H
#define MSGEP_RIG_H

#include "../lib/harness.h"
#include "base/param.h"
#include "fabric/fab_info.h"
#include "msgep/cm/cm.h"
#include "msgep/cm/cm_msg.h"

struct sort {
	const char *name;
	bool local;
};
extern const struct sort sorts[2];

/* The objects of one process. */
struct side {
	struct dofi_fab fab;
	struct fi_info info;
	struct msgep_fabric fabric;
	struct msgep_domain domain;
	struct msgep_eq eq;
	unsigned int events;      /* ever posted */
	struct msgep_ep *checked; /* what msgep_eq_next_checked returns next */
	struct end *arrived;      /* reading packets confirms its path */
};

/* A connected endpoint, and the calls that the transport has received for it. */
struct end {
	struct msgep_ep ep;
	bool up, closed;
	bool have_params;
	char peer_params[MSGEP_PARAMS_MAX];
	int fd; /* came with the parameters */
	bool finished, died;
	char last[MSGEP_PARAMS_MAX];
	int held_back; /* times that the end must not be reported; -1: always */
	unsigned int peer_ended_calls;
	bool path_ok;  /* with rig_checking */
	bool answered; /* a probe is answered at once */
	/* Reading what the peer has sent last confirms the path of this one, too. */
	struct end *confirms;
};

/* The behaviour of the fake transport in this process. */
struct rig_play {
	int get_params_ret, set_params_ret;
	bool with_fd;
};
extern struct rig_play play;
/* Transport of a side that checks the path of each connection. */
extern const struct msgep_transport rig_checking;

void side_open(struct side *s, bool local);
void side_close(struct side *s);
void end_open(struct end *e, struct side *s, struct fi_info *info);
void end_close(struct end *e);
/* address NULL: any; port 0: a free one. Returns fi_listen's result. */
int pep_open(struct msgep_pep *pep, struct side *s, const char *address, uint16_t port);
void pep_close(struct msgep_pep *pep);
uint16_t pep_port(struct msgep_pep *pep);
int end_connect(struct end *e, const char *address, uint16_t port, const void *data, size_t len);

/* Drives both sides until event `want` (FI_CONNREQ ... or 0) arrives at s; any other event fails
 * the case. b may be NULL. The caller frees it. */
struct msgep_event *side_await_event(struct side *s, struct side *b, uint32_t want);
/* The same for events without data or info that matter. */
void side_await_only(struct side *s, struct side *b, uint32_t want, struct end *e);
/* Processes pending work; fails if s has an event. */
void side_expect_no_event(struct side *s, struct side *b);
void work(struct side *s);
/* Blocks on the descriptors until there is work, at most `ms`; then processes it. */
void side_poll_and_work(struct side *s, struct side *b, int ms);
/* A connection between two ends of s; pep listens on 127.0.0.1. */
void join(struct side *s, struct msgep_pep *pep, struct end *active, struct end *passive);

/* Foreign peers: a plain socket connected to a listener, or listening like one. */
int raw_connect(bool local, const char *address, uint16_t port, const char *source);
int raw_listen(bool local, const char *address, uint16_t *port, int backlog);
/* A valid request. */
size_t raw_request(bool local, uint8_t *buf, const void *data, uint16_t len);
void raw_send_fds(int fd, const void *data, size_t len, const int *fds, size_t n);
/* Drives s until the socket is readable or closed; returns what recv returns, up to len. */
ssize_t raw_recv(struct side *s, int fd, void *buf, size_t len);
void set_number(const char *name, const char *value);

#endif
