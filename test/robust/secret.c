/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that know the secret, or have heard those who do, and do not follow the handshake.
 *
 * They speak libfabric's tcp, and messages of cm_seal.h that they make themselves.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cm_seal.h"
#include "rdat.h"
#include "rfab.h"

enum step { ST_ADDR, ST_LISTEN, ST_OVER };

#define PRIV "private"
#define ROOM 256
#define MOST 216
#define GREETINGS 256	/* of which a listener knows at once */

static char good[64], other[64];

static void make_file(char *path, size_t room, const char *text)
{
	FILE *f;
	int fd;

	snprintf(path, room, "/tmp/dat-ofi-robust-XXXXXX");
	fd = mkstemp(path);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static struct rdm_secret *load(const char *path)
{
	struct rdm_secret *secret;

	setenv("DAPL_OFI_CM_SECRET_FILE", path, 1);
	RL_CHECK(!rdm_secret_load(&secret) && secret, "the secret cannot be read");
	return secret;
}

/* ---- a client that seals as it likes ---- */

struct client {
	struct rdm_secret *secret;
	struct dofi_seal seal;
	uint16_t announce;		/* bytes of private data */
	uint8_t hello[DOFI_CM_MAX], request[DOFI_CM_MAX], answer[DOFI_CM_MAX];
	size_t hello_len, request_len, answer_len;
};

static const union dofi_addr *listener_addr(void)
{
	return (const union dofi_addr *)(const void *)rl_board->addr;
}

static void make_hello(struct client *c, const union dofi_addr *to)
{
	struct dofi_cm_msg msg = { .kind = DOFI_CM_REQUEST, .fabric = 1, .reads_in = 4,
				   .reads_out = 4, .qual = rl_board->qual,
				   .priv_len = c->announce };

	c->hello_len = dofi_seal_hello(&c->seal, &msg, true, to, c->hello);
	RL_CHECK(c->hello_len, "no HELLO");
}

static void make_request(struct client *c)
{
	const struct dofi_sealer by = { .secret = c->secret, .room = ROOM, .max_priv = MOST };

	c->request_len = dofi_seal_request(&c->seal, &by, PRIV, sizeof(PRIV), c->request);
}

/* Connects with that message; the answer is kept. */
static enum rf_event ask(struct client *c, const uint8_t *msg, size_t len)
{
	struct rf *rf = rf_open(false);
	enum rf_event event;
	const uint8_t *data;

	rf_connect(rf, msg, len);
	event = rf_wait(rf, 3000);
	data = rf_data(rf, &c->answer_len);
	memcpy(c->answer, data, c->answer_len);
	rf_close(rf);
	return event;
}

static void must_refuse(struct client *c, const uint8_t *msg, size_t len, const char *what)
{
	enum rf_event event = ask(c, msg, len);

	RL_CHECK(event == RF_REFUSED, "%s: %s instead of a refusal", what, rf_event_text(event));
	RL_CHECK(!dofi_seal_is(DOFI_SEAL_CHALLENGED, c->answer, c->answer_len),
		 "%s: a challenge instead of a refusal", what);
}

/* HELLO, and a CHALLENGE of somebody who knows the secret. */
static void greet(struct client *c)
{
	RL_CHECK(ask(c, c->hello, c->hello_len) == RF_REFUSED, "no answer to HELLO");
	RL_CHECK(dofi_seal_is(DOFI_SEAL_CHALLENGED, c->answer, c->answer_len),
		 "no CHALLENGE but %zu bytes", c->answer_len);
	RL_CHECK(!dofi_seal_take_challenge(&c->seal, c->secret, c->answer, c->answer_len),
		 "the listener does not know the secret");
}

static void begin(struct client *c)
{
	memset(c, 0, sizeof(*c));
	c->secret = load(good);
	c->announce = sizeof(PRIV);
	make_hello(c, listener_addr());
}

static void no_hello(struct client *c)
{
	make_request(c);
	must_refuse(c, c->request, c->request_len, "a request without a handshake");
}

static void twice(struct client *c)
{
	greet(c);
	make_request(c);
	RL_CHECK(ask(c, c->request, c->request_len) == RF_CONNECTED, "the first is refused, too");
	must_refuse(c, c->request, c->request_len, "the same request again");
}

static void replay(struct client *c)
{
	greet(c);
	make_request(c);
	RL_CHECK(ask(c, c->request, c->request_len) == RF_CONNECTED, "the first is refused, too");
	/* Who has heard it all says it again. */
	RL_CHECK(ask(c, c->hello, c->hello_len) == RF_REFUSED, "no answer to HELLO");
	must_refuse(c, c->request, c->request_len, "what was heard, again");
}

static void tampered(struct client *c)
{
	greet(c);
	make_request(c);
	for (size_t i = 1; i < c->request_len; i++) {
		c->request[i] ^= 0x80;
		must_refuse(c, c->request, c->request_len, "a request with another byte");
		c->request[i] ^= 0x80;
	}
	must_refuse(c, c->request, c->request_len - 1, "a request with a shorter MAC");
	/* That was nothing to the handshake. */
	RL_CHECK(ask(c, c->request, c->request_len) == RF_CONNECTED, "the right one is refused");
}

static void wrong_secret(struct client *c)
{
	greet(c);
	rdm_secret_free(c->secret);
	c->secret = load(other);
	make_request(c);
	must_refuse(c, c->request, c->request_len, "a request of another secret");
}

static void unsealed(struct client *c)
{
	struct dofi_cm_msg msg = { .kind = DOFI_CM_REQUEST, .fabric = 1, .api = 20,
				   .reads_in = 4, .reads_out = 4, .qual = rl_board->qual };

	must_refuse(c, c->request, dofi_cm_build(c->request, &msg), "an ordinary request");
}

/* Who listens elsewhere passes on to this listener what its client says. */
static void passed_on(struct client *c)
{
	union dofi_addr elsewhere = *listener_addr();

	if (elsewhere.sa.sa_family == AF_INET6)
		elsewhere.in6.sin6_addr.s6_addr[0] ^= 0x20;
	else
		elsewhere.in.sin_addr.s_addr ^= htonl(0x01000000);
	make_hello(c, &elsewhere);
	must_refuse(c, c->hello, c->hello_len, "HELLO to another address");
}

/* Who announces more private data than there is room for next to a MAC has less of that to guess. */
static void short_mac(struct client *c)
{
	c->seal.on = false;
	c->announce = ROOM - 2;
	make_hello(c, listener_addr());
	must_refuse(c, c->hello, c->hello_len, "HELLO that announces too much");
}

/* With that many others under way the listener forgets the oldest, which begins again. */
static void forgotten(struct client *c)
{
	struct client another;

	greet(c);
	make_request(c);
	for (int i = 0; i < GREETINGS; i++) {
		begin(&another);
		greet(&another);
		rdm_secret_free(another.secret);
	}
	must_refuse(c, c->request, c->request_len, "a request that has been forgotten");
	make_hello(c, listener_addr());
	greet(c);
	make_request(c);
	RL_CHECK(ask(c, c->request, c->request_len) == RF_CONNECTED, "it cannot begin again");
}

static const struct attack {
	const char *name;
	void (*run)(struct client *c);
	bool let_in;		/* one request that follows the rules is among them */
} attacks[] = {
	{ "request-without-hello", no_hello, false },
	{ "request-twice", twice, true },
	{ "replay", replay, true },
	{ "tampered", tampered, true },
	{ "other-secret", wrong_secret, false },
	{ "ordinary-request", unsealed, false },
	{ "passed-on", passed_on, false },
	{ "short-mac", short_mac, false },
	{ "forgotten", forgotten, true },
};

static void stranger(void *arg)
{
	const struct attack *a = arg;
	struct client c;

	rl_await(ST_LISTEN, 1, 10000);
	begin(&c);
	a->run(&c);
	rdm_secret_free(c.secret);
	rl_step(ST_OVER, 1);
	rl_leave();
}

static void listener(void *arg)
{
	const struct attack *a = arg;
	unsigned int requests = 0;
	struct rd rd;
	DAT_EVENT ev;

	setenv("DAPL_OFI_CM_SECRET_FILE", good, 1);
	rd_open(&rd, 0, 64);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rl_at("waiting for the stranger");
	while (!rl_board->step[ST_OVER] || rd_next(rd.cr, 50, &ev)) {
		DAT_EP_HANDLE ep;

		if (!rl_board->step[ST_OVER] && !rd_next(rd.cr, 20, &ev))
			continue;
		requests++;
		ep = rd_ep_create(&rd, 4);
		RD_OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
		RL_CHECK(rd_next(rd.conn, 5000, &ev), "the accepted connection has no event");
		RL_CHECK(rd_next(rd.conn, 5000, &ev), "the connection does not end");
		RD_OK(dat_ep_free(ep));
	}
	RL_CHECK(requests == (a->let_in ? 1 : 0), "the program heard of %u requests", requests);
	rd_close(&rd);
}

/* ---- a listener that does not know the secret ---- */

static void client(void *arg)
{
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	setenv("DAPL_OFI_CM_SECRET_FILE", good, 1);
	rd_open(&rd, 0, 16);
	memcpy(rl_board->addr, &rd.addr, sizeof(rl_board->addr));
	rl_step(ST_ADDR, 1);
	rl_await(ST_LISTEN, 1, 10000);
	rd.ep = rd_ep_create(&rd, 4);
	rd_connect(&rd, rd.ep, 4000, "confidential", 12);
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 3000, &ev);
	rd_close(&rd);
	rl_step(ST_OVER, 1);
}

static size_t guess_challenge(uint8_t *buf, const uint8_t *hello, size_t len)
{
	struct rdm_secret *secret = load(other);
	struct dofi_seal seal;
	struct dofi_cm_msg msg;
	union dofi_addr to;
	size_t n;

	RL_CHECK(!dofi_seal_take_hello(&seal, hello, len, &msg, &to), "no HELLO came");
	n = dofi_seal_challenge(&seal, secret, buf);
	rdm_secret_free(secret);
	return n;
}

static size_t accept_hello(uint8_t *buf, const uint8_t *hello, size_t len)
{
	struct dofi_cm_msg msg = { .kind = DOFI_CM_ACCEPT, .fabric = 1, .api = 20, .reads_in = 4,
				   .reads_out = 4 };

	(void)hello;
	(void)len;
	return dofi_cm_build(buf, &msg);
}

static size_t reject_as_the_program(uint8_t *buf, const uint8_t *hello, size_t len)
{
	struct dofi_cm_msg msg = { .kind = DOFI_CM_REJECT, .fabric = 1, .api = 20,
				   .reason = DOFI_CM_BY_PEER, .priv_len = 4,
				   .priv = (const uint8_t *)"lies" };

	(void)hello;
	(void)len;
	return dofi_cm_build(buf, &msg);
}

static const struct impostor {
	const char *name;
	size_t (*answer)(uint8_t *buf, const uint8_t *hello, size_t len);
	bool accepts;
} impostors[] = {
	{ "impostor-challenges", guess_challenge, false },
	{ "impostor-accepts", accept_hello, true },
	{ "impostor-rejects", reject_as_the_program, false },
};

static void impostor(void *arg)
{
	const struct impostor *i = arg;
	uint8_t buf[DOFI_CM_MAX];
	const uint8_t *data;
	struct rf *rf;
	size_t len;

	rl_await(ST_ADDR, 1, 10000);
	rf = rf_open(true);
	rl_step(ST_LISTEN, 1);
	RL_CHECK(rf_wait(rf, 6000) == RF_REQUEST, "no request came");
	data = rf_data(rf, &len);
	RL_CHECK(!memmem(data, len, "confidential", 12), "private data went to a stranger");
	len = i->answer(buf, data, len);
	if (i->accepts)
		rf_accept(rf, buf, len);
	else
		rf_reject(rf, buf, len);
	RL_CHECK(rf_wait(rf, 500) != RF_REQUEST, "the client asks again");
	rl_await(ST_OVER, 1, 6000);
	rf_close(rf);
	rl_leave();
}

/* ---- a listener that knows it, and forgets its handshakes as one does that has too many ---- */

static void patient_client(void *arg)
{
	static char room[64];
	struct rd_mem mem;
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	setenv("DAPL_OFI_CM_SECRET_FILE", good, 1);
	rd_open(&rd, 0, 16);
	memcpy(rl_board->addr, &rd.addr, sizeof(rl_board->addr));
	rl_step(ST_ADDR, 1);
	rl_await(ST_LISTEN, 1, 10000);
	rd.ep = rd_ep_create(&rd, 4);
	rd_reg(&rd, &mem, room, sizeof(room));
	RD_OK(rd_recv(rd.ep, &mem, 0, sizeof(room), 815));
	rd_connect(&rd, rd.ep, 4000, PRIV, sizeof(PRIV));
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 3000, &ev);
	RL_CHECK(!rd_next(rd.recv, 100, &ev), "the receive is over before the connection is");
	rl_step(ST_OVER, 1);
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 3000, &ev);
	RL_CHECK(rd_next(rd.recv, 1000, &ev), "the receive does not complete");
	RL_CHECK(!rd_next(rd.recv, 50, &ev), "the receive completes twice");
	rd_unreg(&mem);
	rd_close(&rd);
}

static const uint8_t *await_request(struct rf *rf, uint8_t magic, size_t *len)
{
	const uint8_t *data;

	RL_CHECK(rf_wait(rf, 6000) == RF_REQUEST, "no request came");
	data = rf_data(rf, len);
	RL_CHECK(dofi_seal_is(magic, data, *len), "%#x came instead of %#x", *len ? *data : 0,
		 magic);
	return data;
}

/* HELLO and REQUEST; true: the latter has been refused. */
static bool one_handshake(struct rf *rf, const struct rdm_secret *secret, bool forget)
{
	struct dofi_cm_msg msg;
	const struct dofi_sealer by = { .secret = secret, .room = ROOM, .max_priv = MOST };
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_seal seal;
	const uint8_t *data;
	union dofi_addr to;
	size_t len;

	data = await_request(rf, DOFI_SEAL_HELLO, &len);
	RL_CHECK(!dofi_seal_take_hello(&seal, data, len, &msg, &to), "HELLO is malformed");
	RL_CHECK(msg.priv_len == sizeof(PRIV), "HELLO announces %u bytes", msg.priv_len);
	rf_reject(rf, buf, dofi_seal_challenge(&seal, secret, buf));
	data = await_request(rf, DOFI_SEAL_REQUEST, &len);
	RL_CHECK(!dofi_seal_take_request(&seal, &by, data, len), "the request is not sealed");
	RL_CHECK(!memcmp(data + 1, PRIV, sizeof(PRIV)), "the private data is another");
	if (forget) {
		msg = (struct dofi_cm_msg){ .kind = DOFI_CM_REJECT, .fabric = 1,
					    .reason = DOFI_CM_SECRET_OTHER };
		rf_reject(rf, buf, dofi_cm_build(buf, &msg));
		return true;
	}
	msg = (struct dofi_cm_msg){ .kind = DOFI_CM_ACCEPT };
	rf_accept(rf, buf, dofi_seal_answer(&seal, &by, &msg, buf));
	return false;
}

static void forgetful(void *arg)
{
	struct rdm_secret *secret = load(good);
	unsigned int times = 0;
	struct rf *rf;

	(void)arg;
	rl_await(ST_ADDR, 1, 10000);
	rf = rf_open(true);
	rl_step(ST_LISTEN, 1);
	while (one_handshake(rf, secret, times < 2))
		times++;
	RL_CHECK(rf_wait(rf, 3000) == RF_CONNECTED, "not connected");
	rl_await(ST_OVER, 1, 6000);
	rf_close(rf);
	rdm_secret_free(secret);
	rl_leave();
}

static void run(void)
{
	if (!rf_usable()) {
		rl_skip("secret", "no strangers are known for this fabric");
		return;
	}
	make_file(good, sizeof(good), "a secret of good length");
	make_file(other, sizeof(other), "a secret of good lengtH");
	setenv("DAPL_OFI_LOG", "0", 1);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (rl_begin(attacks[i].name, 20000)) {
			void *a = (void *)(uintptr_t)&attacks[i];

			rl_start("listener", listener, a);
			rl_start("stranger", stranger, a);
			rl_end();
		}
	for (size_t i = 0; i < sizeof(impostors) / sizeof(impostors[0]); i++)
		if (rl_begin(impostors[i].name, 15000)) {
			rl_start("client", client, NULL);
			rl_start("impostor", impostor, (void *)(uintptr_t)&impostors[i]);
			rl_end();
		}
	if (rl_begin("forgetful-listener", 15000)) {
		rl_start("client", patient_client, NULL);
		rl_start("listener", forgetful, NULL);
		rl_end();
	}
	unlink(good);
	unlink(other);
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 90, run);
}
