/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of a handshake with a secret: what an end that knows it believes, and nothing
 * else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/harness.h"
#include "proto/cm_seal.h"

#define BRIEF_ROOM 55 /* verbs */
#define BRIEF_PRIV 48
#define WIDE_ROOM 256 /* a fabric without limits */
#define WIDE_PRIV 216

static struct msgep_secret *load(const char *text)
{
	char path[] = "/tmp/dat-ofi-seal-XXXXXX";
	struct msgep_secret *secret;
	int fd = mkstemp(path);

	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	setenv("DAPL_OFI_CM_SECRET_FILE", path, 1);
	ASSERT_EQ(msgep_secret_load(&secret), 0);
	unsetenv("DAPL_OFI_CM_SECRET_FILE");
	unlink(path);
	return secret;
}

struct ends {
	struct msgep_secret *secret, *other;
	struct dofi_seal client, listener;
	struct dofi_sealer by;
	bool wide;
	uint8_t request_data[DOFI_CM_MAX], answer_data[DOFI_CM_MAX];
	struct dofi_cm_msg request;
	union dofi_addr to;
};

static void ends_open(struct ends *e, bool wide, size_t priv)
{
	memset(e, 0, sizeof(*e));
	e->secret = load("a secret of good length");
	e->other = load("a secret of good lengtH");
	e->wide = wide;
	memset(e->request_data, 'q', sizeof(e->request_data));
	memset(e->answer_data, 'a', sizeof(e->answer_data));
	e->by = (struct dofi_sealer){ .secret = e->secret,
				      .max_len = wide ? WIDE_ROOM : BRIEF_ROOM,
				      .one_priv = wide ? WIDE_PRIV : BRIEF_PRIV,
				      .max_priv = wide ? WIDE_PRIV : DOFI_CM_PRIV_MAX };
	e->request = (struct dofi_cm_msg){
		.kind = DOFI_CM_REQUEST,
		.fabric = wide ? 1 : 2,
		.qual = 0x123456789abcdef0u,
		.reads_in = 300,
		.reads_out = 17,
		.conn_id = 0xabcdef,
		.amo_port = 54321,
		.priv_len = (uint16_t)priv,
	};
	e->to.in.sin_family = AF_INET;
	e->to.in.sin_addr.s_addr = htonl(0x7f000001);
}

static void ends_close(struct ends *e)
{
	msgep_secret_free(e->secret);
	msgep_secret_free(e->other);
}

/* HELLO and CHALLENGE. */
static void greet(struct ends *e)
{
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	union dofi_addr to;
	size_t len;

	len = dofi_seal_hello(&e->client, &e->request, &e->to, buf);
	ASSERT(len && len <= e->by.max_len);
	ASSERT(dofi_seal_is(DOFI_SEAL_HELLO, buf, len));
	ASSERT_EQ(dofi_seal_open_hello(&e->listener, buf, len, &msg, &to), 0);
	ASSERT_EQ(msg.qual, e->request.qual);
	ASSERT_EQ(msg.reads_in, e->request.reads_in);
	ASSERT_EQ(msg.reads_out, e->request.reads_out);
	ASSERT_EQ(msg.conn_id, e->request.conn_id);
	ASSERT_EQ(msg.amo_port, e->request.amo_port);
	ASSERT(dofi_addr_same_host(&to.sa, &e->to.sa));
	len = dofi_seal_challenge(&e->listener, e->secret, buf);
	ASSERT(len && len <= e->by.max_len);
	ASSERT_EQ(dofi_seal_open_challenge(&e->client, e->secret, buf, len), 0);
	ASSERT(e->client.proven);
	ASSERT(dofi_seal_token(&e->client, e->secret));
	ASSERT_EQ(dofi_seal_token(&e->client, e->secret), dofi_seal_token(&e->listener, e->secret));
	ASSERT(dofi_seal_token(&e->client, e->secret) != dofi_seal_token(&e->listener, e->other));
}

static size_t answer(struct ends *e, enum dofi_cm_kind kind, size_t priv, uint8_t *buf)
{
	const struct dofi_cm_msg msg = {
		.kind = kind,
		.reads_in = 99,
		.conn_id = 0x123456,
		.amo_port = 12345,
		.reason = DOFI_CM_BY_PEER,
		.priv_len = (uint16_t)priv,
		.priv = e->answer_data,
	};

	return dofi_seal_answer(&e->listener, &e->by, &msg, buf);
}

static void check_answer(struct ends *e, enum dofi_cm_kind kind, const struct dofi_cm_msg *msg,
			 size_t priv)
{
	ASSERT_EQ(msg->kind, kind);
	ASSERT_EQ(msg->priv_len, priv);
	ASSERT_MEM(msg->priv, e->answer_data, priv);
	if (kind == DOFI_CM_REJECT) {
		ASSERT_EQ(msg->reason, DOFI_CM_BY_PEER);
		return;
	}
	ASSERT_EQ(msg->reads_in, 99);
	ASSERT_EQ(msg->conn_id, 0x123456);
	ASSERT_EQ(msg->amo_port, e->by.amo_port_len ? 12345 : 0);
}

/* Changing any bit or the length is detected. */
static void spoil(struct ends *e, enum dofi_cm_kind kind, uint8_t *buf, size_t len)
{
	struct dofi_cm_msg msg;
	size_t priv;

	for (size_t bit = 0; bit < len * 8; bit++) {
		int ret;

		/* The first byte is the message type. */
		if (kind != DOFI_CM_ACCEPT && bit < 8)
			continue;
		buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ret = kind == DOFI_CM_REQUEST
			      ? dofi_seal_open_request(&e->listener, &e->by, buf, len, &priv)
			      : dofi_seal_open_answer(&e->client, &e->by, kind, buf, len, &msg);
		buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (ret != -EACCES && ret != -EBADMSG)
			FAIL("a change of bit %zu of message %d is not detected", bit, kind);
	}
	for (size_t n = 0; n < len; n++)
		ASSERT(kind == DOFI_CM_REQUEST
			       ? dofi_seal_open_request(&e->listener, &e->by, buf, n, &priv)
			       : dofi_seal_open_answer(&e->client, &e->by, kind, buf, n, &msg));
}

static void every_length(bool wide)
{
	size_t most = wide ? WIDE_PRIV : BRIEF_PRIV, every = wide ? 24 : 8, got;
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	struct ends e;
	size_t len;

	for (size_t priv = 0; priv <= most; priv++) {
		ends_open(&e, wide, priv);
		greet(&e);
		len = dofi_seal_request(&e.client, &e.by, e.request_data, e.request.priv_len, buf);
		ASSERT(len && len <= e.by.max_len);
		ASSERT(dofi_seal_is(DOFI_SEAL_REQUEST, buf, len));
		ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, buf, len, &got), 0);
		ASSERT_EQ(got, priv);
		ASSERT_MEM(buf + 1, e.request_data, priv);
		/* A fabric may append bytes to a message. */
		ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, buf, e.by.max_len, &got), 0);
		if (priv % every == 0)
			spoil(&e, DOFI_CM_REQUEST, buf, len);
		for (int kind = DOFI_CM_ACCEPT; kind <= DOFI_CM_REJECT; kind++) {
			len = answer(&e, (enum dofi_cm_kind)kind, priv, buf);
			ASSERT(len && len <= e.by.max_len);
			ASSERT_EQ(dofi_seal_open_answer(&e.client, &e.by, (enum dofi_cm_kind)kind,
							buf, len, &msg),
				  0);
			check_answer(&e, (enum dofi_cm_kind)kind, &msg, priv);
			/* With two bytes of MAC one corrupted message in 65,536 passes. */
			if (len - priv >= 19 && (!wide || priv % every == 0))
				spoil(&e, (enum dofi_cm_kind)kind, buf, len);
		}
		ends_close(&e);
	}
}

TEST(cm_seal, every_length_of_brief_messages)
{
	every_length(false);
}

TEST(cm_seal, every_length_of_long_messages)
{
	every_length(true);
}

/* More private data than one message of the fabric carries. */
TEST(cm_seal, every_length_of_messages_in_parts)
{
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	size_t len, got;
	struct ends e;

	for (size_t priv = BRIEF_PRIV + 1; priv <= DOFI_CM_PRIV_MAX; priv++) {
		ends_open(&e, false, priv);
		greet(&e);
		len = dofi_seal_request(&e.client, &e.by, e.request_data, priv, buf);
		ASSERT_EQ(len, 1 + priv + DOFI_SEAL_MAC);
		ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, buf, len, &got), 0);
		ASSERT_EQ(got, priv);
		ASSERT_MEM(buf + 1, e.request_data, priv);
		if (priv % 32 == 0)
			spoil(&e, DOFI_CM_REQUEST, buf, len);
		for (int kind = DOFI_CM_ACCEPT; kind <= DOFI_CM_REJECT; kind++) {
			len = answer(&e, (enum dofi_cm_kind)kind, priv, buf);
			ASSERT_EQ(len, (kind == DOFI_CM_ACCEPT ? 5 : 3) + priv + DOFI_SEAL_MAC);
			ASSERT_EQ(dofi_seal_open_answer(&e.client, &e.by, (enum dofi_cm_kind)kind,
							buf, len, &msg),
				  0);
			check_answer(&e, (enum dofi_cm_kind)kind, &msg, priv);
			if (priv % 32 == 0)
				spoil(&e, (enum dofi_cm_kind)kind, buf, len);
		}
		ends_close(&e);
	}
}

TEST(cm_seal, at_least_so_much_of_the_mac_is_there)
{
	uint8_t buf[DOFI_CM_MAX];
	struct ends e;
	size_t len;

	ends_open(&e, false, BRIEF_PRIV);
	greet(&e);
	len = dofi_seal_request(&e.client, &e.by, e.request_data, e.request.priv_len, buf);
	ASSERT_EQ(len - 1 - BRIEF_PRIV, 6);
	ASSERT_EQ(answer(&e, DOFI_CM_ACCEPT, BRIEF_PRIV, buf) - 5 - BRIEF_PRIV, 2);
	ASSERT_EQ(answer(&e, DOFI_CM_ACCEPT, 34, buf) - 5 - 34, DOFI_SEAL_MAC);
	ASSERT_EQ(answer(&e, DOFI_CM_REJECT, BRIEF_PRIV, buf) - 3 - BRIEF_PRIV, 4);
	ends_close(&e);
}

/* Over iWARP the port for atomic operations is in front of the private data. */
TEST(cm_seal, acceptance_with_a_port)
{
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	struct ends e;
	size_t len;

	for (size_t priv = 0; priv <= BRIEF_PRIV - DOFI_CM_AMO_PORT; priv++) {
		ends_open(&e, false, priv);
		e.by.amo_port_len = DOFI_CM_AMO_PORT;
		e.by.one_priv = BRIEF_PRIV - DOFI_CM_AMO_PORT;
		greet(&e);
		len = dofi_seal_request(&e.client, &e.by, e.request_data, priv, buf);
		ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, buf, len, &(size_t){ 0 }), 0);
		len = answer(&e, DOFI_CM_ACCEPT, priv, buf);
		ASSERT(len >= 5 + 2 + priv + 2 && len <= e.by.max_len);
		ASSERT_EQ(dofi_seal_open_answer(&e.client, &e.by, DOFI_CM_ACCEPT, buf, len, &msg),
			  0);
		check_answer(&e, DOFI_CM_ACCEPT, &msg, priv);
		if (len - priv >= 21)
			spoil(&e, DOFI_CM_ACCEPT, buf, len);
		ends_close(&e);
	}
}

/* Only the length is wrong, since this end knows the secret: one that does not could choose the
 * length that leaves a single byte of the MAC to guess. */
static void too_much_private_data(bool wide)
{
	size_t most = wide ? WIDE_PRIV : BRIEF_PRIV, got;
	struct dofi_sealer ours;
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	struct ends e;
	size_t len;

	for (size_t priv = most + 1; priv <= 255; priv++) {
		ends_open(&e, wide, priv);
		ours = e.by;
		e.by.one_priv = e.by.max_priv = 255;
		greet(&e);
		len = dofi_seal_request(&e.client, &e.by, e.request_data, priv, buf);
		if (len) {
			ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, buf, len, &got), 0);
			ASSERT_EQ(dofi_seal_open_request(&e.listener, &ours, buf, len, &got),
				  -EBADMSG);
		}
		for (int kind = DOFI_CM_ACCEPT; kind <= DOFI_CM_REJECT; kind++) {
			len = answer(&e, (enum dofi_cm_kind)kind, priv, buf);
			if (!len)
				continue;
			ASSERT_EQ(dofi_seal_open_answer(&e.client, &e.by, (enum dofi_cm_kind)kind,
							buf, len, &msg),
				  0);
			ASSERT_EQ(dofi_seal_open_answer(&e.client, &ours, (enum dofi_cm_kind)kind,
							buf, len, &msg),
				  -EBADMSG);
		}
		ends_close(&e);
	}
}

TEST(cm_seal, private_data_that_shortens_the_mac_is_malformed)
{
	too_much_private_data(false);
	too_much_private_data(true);
}

TEST(cm_seal, challenge_of_another_secret_or_handshake)
{
	uint8_t hello[DOFI_CM_MAX], buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	union dofi_addr to;
	struct ends e, f;
	size_t len, n;

	ends_open(&e, false, 5);
	len = dofi_seal_hello(&e.client, &e.request, &e.to, hello);
	ASSERT_EQ(dofi_seal_open_hello(&e.listener, hello, len, &msg, &to), 0);
	n = dofi_seal_challenge(&e.listener, e.other, buf);
	ASSERT_EQ(dofi_seal_open_challenge(&e.client, e.secret, buf, n), -EACCES);
	ASSERT(!e.client.proven);
	/* From the same client, for an earlier request. */
	n = dofi_seal_challenge(&e.listener, e.secret, buf);
	ends_open(&f, false, 5);
	dofi_seal_hello(&f.client, &f.request, &f.to, hello);
	ASSERT_EQ(dofi_seal_open_challenge(&f.client, f.secret, buf, n), -EACCES);
	for (size_t i = 2; i < n; i++) {
		buf[i] ^= 1;
		ASSERT_EQ(dofi_seal_open_challenge(&e.client, e.secret, buf, n), -EACCES);
		buf[i] ^= 1;
	}
	ASSERT_EQ(dofi_seal_open_challenge(&e.client, e.secret, buf, n - 1), -EBADMSG);
	ASSERT_EQ(dofi_seal_open_challenge(&e.client, e.secret, buf, n), 0);
	ends_close(&e);
	ends_close(&f);
}

TEST(cm_seal, what_is_replayed_in_another_handshake_is_worth_nothing)
{
	uint8_t request[DOFI_CM_MAX], acceptance[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	struct ends e;
	size_t len, n, got;

	ends_open(&e, false, BRIEF_PRIV);
	greet(&e);
	len = dofi_seal_request(&e.client, &e.by, e.request_data, e.request.priv_len, request);
	ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, request, len, &got), 0);
	n = answer(&e, DOFI_CM_ACCEPT, 0, acceptance);
	ASSERT_EQ(dofi_seal_open_answer(&e.client, &e.by, DOFI_CM_ACCEPT, acceptance, n, &msg), 0);
	/* The same HELLO again: the listener's random number differs. */
	ASSERT(dofi_seal_challenge(&e.listener, e.secret, acceptance + 100));
	ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, request, len, &got), -EACCES);
	greet(&e);
	ASSERT_EQ(dofi_seal_open_request(&e.listener, &e.by, request, len, &got), -EACCES);
	ASSERT_EQ(dofi_seal_open_answer(&e.client, &e.by, DOFI_CM_ACCEPT, acceptance, n, &msg),
		  -EACCES);
	ends_close(&e);
}

TEST(cm_seal, malformed_questions)
{
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_cm_msg msg;
	union dofi_addr to;
	struct ends e;
	size_t len;

	ends_open(&e, true, 5);
	len = dofi_seal_hello(&e.client, &e.request, &e.to, buf);
	for (size_t n = 0; n < len; n++)
		ASSERT_EQ(dofi_seal_open_hello(&e.listener, buf, n, &msg, &to), -EBADMSG);
	buf[1]++;
	ASSERT_EQ(dofi_seal_open_hello(&e.listener, buf, len, &msg, &to), -EPROTONOSUPPORT);
	buf[1]--;
	buf[3] |= 4;
	ASSERT_EQ(dofi_seal_open_hello(&e.listener, buf, len, &msg, &to), -EBADMSG);
	ends_close(&e);
}
