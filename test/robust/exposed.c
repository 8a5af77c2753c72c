/* SPDX-License-Identifier: BSD-2-Clause */
/* Strangers and peers that do what they should not be able to do.
 *
 * Cases that are known to fail over a fabric say so (rl_known_to_fail); docs/security.md lists them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "attack.h"
#include "base/wire.h"
#include "cm_proto.h"
#include "rdat.h"
#include "rfab.h"

enum step { ST_LISTEN, ST_READY, ST_ATTACKED, ST_OVER, ST_FLOOD };

#define SILENT_MS 200

/* ---- the program's own sockets ---- */

/* The port of the service point, at another address. */
static struct sockaddr_in beside(void)
{
	struct sockaddr_in sin;

	memcpy(&sin, rl_board->addr, sizeof(sin));
	RL_CHECK(sin.sin_family == AF_INET, "the case is for IPv4");
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	sin.sin_port = htons((uint16_t)rl_board->qual);
	return sin;
}

static void program_with_sockets(void *arg)
{
	struct sockaddr_in sin;
	struct rd rd;
	char byte = 0;
	int on = 1, fd, conn;

	(void)arg;
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	sin = beside();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	RL_CHECK(!bind(fd, (struct sockaddr *)&sin, sizeof(sin)) && !listen(fd, 4), "listen: %s",
		 strerror(errno));
	rl_step(ST_LISTEN, 1);
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	RL_CHECK(conn >= 0, "accept: %s", strerror(errno));
	/* Long enough for whoever looks for idle connections to look several times. */
	rl_await(ST_READY, 1, 10000);
	rl_sleep_ms(5 * SILENT_MS);
	RL_CHECK(send(conn, "x", 1, MSG_NOSIGNAL) == 1, "the program's own socket was shut down: %s",
		 strerror(errno));
	RL_CHECK(recv(conn, &byte, 1, 0) == 1 && byte == 'y',
		 "the program's own socket was shut down");
	close(conn);
	close(fd);
	rd_close(&rd);
}

static void client_of_the_program(void *arg)
{
	struct sockaddr_in sin;
	char byte = 0;
	int fd;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	sin = beside();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	RL_CHECK(!connect(fd, (struct sockaddr *)&sin, sizeof(sin)), "connect: %s",
		 strerror(errno));
	rl_step(ST_READY, 1);
	RL_CHECK(recv(fd, &byte, 1, 0) == 1 && byte == 'x', "the program's socket was shut down");
	RL_CHECK(send(fd, "y", 1, MSG_NOSIGNAL) == 1, "send: %s", strerror(errno));
	close(fd);
	rl_leave();
}

/* ---- descriptors ---- */

#define FLOODERS 4
#define FLOOD_EACH 500
#define DESCRIPTORS 1024

static void flooder(void *arg)
{
	struct sockaddr_storage ss;
	socklen_t len;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	memset(&ss, 0, sizeof(ss));
	memcpy(&ss, rl_board->addr, sizeof(rl_board->addr));
	len = ss.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	((struct sockaddr_in *)&ss)->sin_port = htons((uint16_t)rl_board->qual);
	for (int n = 0; n < FLOOD_EACH; n++) {
		int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		RL_CHECK(fd >= 0, "socket: %s", strerror(errno));
		/* Kept until the process ends. Where nobody accepts, some hang in the backlog. */
		(void)!connect(fd, (struct sockaddr *)&ss, len);
		poll(&p, 1, 20);
	}
	atomic_fetch_add(&rl_board->step[ST_FLOOD], 1);
	rl_await(ST_OVER, 1, 20000);
	rl_leave();
}

static void flooded_server(void *arg)
{
	struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	struct rd rd;
	int fd;

	(void)arg;
	RL_CHECK(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %s", strerror(errno));
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rl_await(ST_FLOOD, FLOODERS, 20000);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	RL_CHECK(fd >= 0, "the program has no descriptor left: %s", strerror(errno));
	close(fd);
	rl_step(ST_ATTACKED, 1);
	rd.ep = rd_ep_create(&rd, 4);
	rd_accept_up(&rd, rd.ep);
	rl_await(ST_OVER, 1, 10000);
	rd_close(&rd);
}

static void flooded_client(void *arg)
{
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	rl_await(ST_ATTACKED, 1, 30000);
	rd_open(&rd, 0, 16);
	rd.ep = rd_ep_create(&rd, 4);
	rd_connect(&rd, rd.ep, 5000, NULL, 0);
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 6000, &ev);
	rl_step(ST_OVER, 1);
	rd_close(&rd);
}

/* ---- a peer that speaks libfabric's tcp by itself ---- */

static size_t plain_request(uint8_t *buf)
{
	struct dofi_cm_msg m = { .kind = DOFI_CM_REQUEST, .fabric = 1, .api = 20, .reads_in = 4,
				 .reads_out = 4, .qual = rl_board->qual, .number = 4711 };

	return dofi_cm_build(buf, &m);
}

static void accepting_server(void *arg)
{
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rd.ep = rd_ep_create(&rd, 4);
	rd_accept_up(&rd, rd.ep);
	rl_at("waiting for the end of the connection");
	rl_await(ST_ATTACKED, 1, 10000);
	RL_CHECK(rd_next(rd.conn, 5000, &ev), "the connection does not end");
	rl_step(ST_OVER, 1);
	rd_close(&rd);
}

/* libfabric 1.17 goes by the operation that the header names (1: a tagged message) without asking
 * whether the endpoint has any such. */
static void deadly_peer(void *arg)
{
	static const uint8_t tagged[8] = { 3, 1, 0, 0, 0, 0, 16, 0 };
	uint8_t buf[ATTACK_CM_HDR + DOFI_CM_MAX], header[16];
	uint64_t size = sizeof(header);
	size_t len;
	int fd;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	fd = attack_connect();
	len = plain_request(buf + ATTACK_CM_HDR);
	attack_cm_header(buf, ATTACK_REQUEST, len);
	RL_CHECK(send(fd, buf, ATTACK_CM_HDR + len, MSG_NOSIGNAL) == (ssize_t)(ATTACK_CM_HDR + len),
		 "send: %s", strerror(errno));
	RL_CHECK(recv(fd, buf, ATTACK_CM_HDR, MSG_WAITALL) == ATTACK_CM_HDR &&
		 buf[1] == ATTACK_RESPONSE, "not accepted");
	memcpy(header, tagged, sizeof(tagged));
	memcpy(header + sizeof(tagged), &size, sizeof(size));
	RL_CHECK(send(fd, header, sizeof(header), MSG_NOSIGNAL) == sizeof(header), "send: %s",
		 strerror(errno));
	rl_step(ST_ATTACKED, 1);
	rl_await(ST_OVER, 1, 10000);
	close(fd);
	rl_leave();
}

/* ---- the control channel of the adapters (prov_ofi/link.h) ---- */

enum { CHANNEL_HELLO = 1, CHANNEL_ASK, CHANNEL_ANSWER, CHANNEL_BYE };
#define CHANNEL_HEAD 16

static uint8_t *channel_head(uint8_t *p, unsigned int kind, uint64_t number)
{
	p = dofi_put(p, 0x444f4c4b, 4);
	p = dofi_put(p, 1, 1);
	p = dofi_put(p, kind, 1);
	p = dofi_put(p, 1, 2);
	return dofi_put(p, number, 8);
}

/* Connects as an ordinary peer does, and learns the adapter's number and port. */
static struct rf *become_peer(struct dofi_cm_msg *answer)
{
	uint8_t buf[DOFI_CM_MAX];
	struct rf *rf = rf_open(false);
	const uint8_t *data;
	size_t len;

	rf_connect(rf, buf, plain_request(buf));
	RL_CHECK(rf_wait(rf, 3000) == RF_CONNECTED, "not accepted");
	data = rf_data(rf, &len);
	RL_CHECK(!dofi_cm_parse(data, len, answer) && answer->link_port, "no control channel");
	return rf;
}

/* A control channel of the adapter `self`; -1: it was not let in. */
static int open_channel(const struct dofi_cm_msg *to, uint64_t self)
{
	uint8_t msg[CHANNEL_HEAD + 8], answer[CHANNEL_HEAD + 8];
	struct timeval limit = { .tv_sec = 2 };
	int fd;

	rl_board->word[ATTACK_PORT] = to->link_port;
	fd = attack_connect();
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	dofi_put(channel_head(msg, CHANNEL_HELLO, self), to->number, 8);
	if (send(fd, msg, sizeof(msg), MSG_NOSIGNAL) == sizeof(msg) &&
	    recv(fd, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer))
		return fd;
	close(fd);
	return -1;
}

/* What the adapter says of an access; -1: nothing. */
static int ask(int fd, uint32_t key, uint64_t addr)
{
	uint8_t msg[CHANNEL_HEAD + 24], answer[CHANNEL_HEAD + 8];
	uint8_t *p = channel_head(msg, CHANNEL_ASK, 1);

	p = dofi_put(p, 2, 1);		/* a write */
	p = dofi_put(p, 0, 3);
	p = dofi_put(p, key, 4);
	p = dofi_put(p, addr, 8);
	dofi_put(p, 1, 8);
	if (send(fd, msg, sizeof(msg), MSG_NOSIGNAL) != sizeof(msg) ||
	    recv(fd, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
		return -1;
	return (int)(dofi_get(answer + CHANNEL_HEAD, 8) & 1);
}

static void server_with_memory(void *arg)
{
	static char secret[64];
	struct rd_mem mem;
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 16);
	rd_reg(&rd, &mem, secret, sizeof(secret));
	rd_show(0, &mem);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rd.ep = rd_ep_create(&rd, 4);
	rd_accept_up(&rd, rd.ep);
	rl_await(ST_OVER, 1, 10000);
	rd_unreg(&mem);
	rd_close(&rd);
}

/* Keys can be tried without losing the connection. */
static void asking_peer(void *arg)
{
	struct dofi_cm_msg to;
	struct rf *rf;
	int fd, right, wrong;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	rf = become_peer(&to);
	fd = open_channel(&to, 4711);
	if (fd >= 0) {
		right = ask(fd, rl_board->rctx[0], rl_board->va[0]);
		wrong = ask(fd, rl_board->rctx[0] ^ 1, rl_board->va[0]);
		RL_CHECK(right < 0 || right == wrong, "it says which key is right");
		close(fd);
	}
	rl_step(ST_OVER, 1);
	rf_close(rf);
	rl_leave();
}

/* The two ports of the connection, of which any process on the two hosts knows. */
enum { PORT_OF_CLIENT = 3, PORT_OF_SERVER };

/* A server with two clients: one of ours, and the attacker, who leaves it alone otherwise. */
static void server_of_two(void *arg)
{
	DAT_EP_HANDLE other;
	DAT_EP_PARAM param;
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rd.ep = rd_ep_create(&rd, 4);
	rd_accept_up(&rd, rd.ep);
	RD_OK(dat_ep_query(rd.ep, DAT_EP_FIELD_REMOTE_PORT_QUAL, &param));
	rl_board->word[PORT_OF_CLIENT] = param.remote_port_qual;
	rl_board->word[PORT_OF_SERVER] = rl_board->qual;
	rl_step(ST_READY, 1);
	other = rd_ep_create(&rd, 4);
	rd_accept_up(&rd, other);
	rl_await(ST_ATTACKED, 1, 10000);
	RL_CHECK(!rd_next(rd.conn, 1500, &ev), "%s for a client that is there",
		 rd_event_text(ev.event_number));
	rl_step(ST_OVER, 1);
	RD_OK(dat_ep_free(other));
	rd_close(&rd);
}

static void idle_client(void *arg)
{
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	rd_open(&rd, 0, 16);
	rd.ep = rd_ep_create(&rd, 4);
	rd_connect_up(&rd, rd.ep);
	/* Then, to the attacker's service point, which learns the adapter's number. */
	rl_await(ST_READY, 2, 10000);
	rl_board->qual = rl_board->word[2];
	{
		DAT_EP_HANDLE ep = rd_ep_create(&rd, 4);

		rd_connect(&rd, ep, 4000, NULL, 0);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 5000, &ev);
		RD_OK(dat_ep_free(ep));
	}
	rl_await(ST_OVER, 1, 15000);
	rd_close(&rd);
}

/* Says that it is the client's adapter, and that the client has disconnected. */
static void impersonator(void *arg)
{
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg to, from, reject = { .kind = DOFI_CM_REJECT, .fabric = 1,
						.reason = DOFI_CM_NO_LISTENER };
	const uint8_t *data;
	struct rf *rf, *listener;
	size_t len;
	int fd;

	(void)arg;
	rl_await(ST_READY, 1, 10000);
	rf = become_peer(&to);
	listener = rf_open(true);
	rl_board->word[2] = rl_board->qual;
	rl_step(ST_READY, 2);
	RL_CHECK(rf_wait(listener, 6000) == RF_REQUEST, "no request came");
	data = rf_data(listener, &len);
	RL_CHECK(!dofi_cm_parse(data, len, &from), "no connection message");
	len = dofi_cm_build(buf, &reject);
	rf_reject(listener, buf, len);
	rf_wait(listener, 300);
	fd = open_channel(&to, from.number);
	if (fd >= 0) {
		dofi_put(channel_head(buf, CHANNEL_BYE, rl_board->word[PORT_OF_CLIENT] << 16 |
				      rl_board->word[PORT_OF_SERVER]), 0, 8);
		RL_CHECK(send(fd, buf, CHANNEL_HEAD + 8, MSG_NOSIGNAL) == CHANNEL_HEAD + 8,
			 "send: %s", strerror(errno));
		close(fd);
	}
	rl_step(ST_ATTACKED, 1);
	rl_await(ST_OVER, 1, 15000);
	rf_close(listener);
	rf_close(rf);
	rl_leave();
}

static void set_silent(int ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", ms);
	setenv("DAPL_OFI_SILENT_MS", text, 1);
}

static void on_sockets(void)
{
	if (rl_begin("own-socket-on-the-port", 20000)) {
		rl_known_to_fail("tcp", "sockets on a service point's port are taken for idle "
				 "connections");
		rl_start("program", program_with_sockets, NULL);
		rl_start("client", client_of_the_program, NULL);
		rl_end();
	}
	if (rl_begin("silent-connections-and-1024-descriptors", 40000)) {
		rl_known_to_fail("tcp", "each silent connection holds a descriptor");
		set_silent(20000);
		rl_start("server", flooded_server, NULL);
		for (int i = 0; i < FLOODERS; i++)
			rl_start("flooder", flooder, NULL);
		rl_start("client", flooded_client, NULL);
		rl_end();
		set_silent(SILENT_MS);
	}
}

static void on_libfabric(void)
{
	if (rl_begin("deadly-header", 15000)) {
		rl_known_to_fail("tcp", "libfabric 1.17 calls a matcher that the endpoint has not");
		rl_start("server", accepting_server, NULL);
		rl_start("peer", deadly_peer, NULL);
		rl_end();
	}
	if (rl_begin("control-channel-answers", 15000)) {
		rl_known_to_fail("tcp", "the control channel tells whether a key is right");
		rl_start("server", server_with_memory, NULL);
		rl_start("peer", asking_peer, NULL);
		rl_end();
	}
	if (rl_begin("control-channel-taken", 25000)) {
		rl_known_to_fail("tcp", "the control channel believes whoever says that it is the peer");
		rl_start("server", server_of_two, NULL);
		rl_start("client", idle_client, NULL);
		rl_start("impersonator", impersonator, NULL);
		rl_end();
	}
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 1);
	set_silent(SILENT_MS);
	setenv("DAPL_OFI_GRACE_MS", "200", 1);
	if (test_fabric_has(test_fabric(), "sockets"))
		on_sockets();
	else
		rl_skip("sockets", "a service point is no TCP port");
	if (rf_usable())
		on_libfabric();
	else
		rl_skip("peers", "no strangers are known for this fabric");
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 120, run);
}
