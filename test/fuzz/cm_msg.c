/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the reader and the parser of the handshake with byte sequences divided in any way. The
 * first byte of the input selects how the rest is divided (low 7 bits) and whether wakeup bytes
 * may precede a message (bit 7). Invariants: the reader never requests more than its buffer holds
 * or the message has; reader and parser agree on a message; and an accepted message equals the one
 * built from its parsed fields.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz.h"
#include "msgep/cm/cm_msg.h"

size_t dofi_addr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static void check_message(const uint8_t *buf, size_t len)
{
	uint8_t again[MSGEP_CM_MAX];
	struct msgep_cm_msg msg;

	if (msgep_cm_parse(buf, len, &msg))
		return;
	MUST(len <= MSGEP_CM_MAX);
	MUST(msg.params_len <= MSGEP_PARAMS_MAX && msg.data_len <= MSGEP_CM_DATA);
	MUST(msg.params == buf + MSGEP_CM_HDR && msg.data == msg.params + msg.params_len);
	MUST(msg.data + msg.data_len + (msg.sealed ? MSGEP_CM_MAC : 0) == buf + len);
	MUST(!msg.sealed || msg.mac + MSGEP_CM_MAC == buf + len);
	MUST(msg.kind != MSGEP_CM_REQUEST || msg.port);
	MUST(msgep_cm_build(again, &msg) == len);
	MUST(!memcmp(again, buf, len));
}

static void check_reader(const uint8_t *data, size_t size, size_t chunk, bool bells)
{
	static struct msgep_cm_reader r;
	size_t at = 0;

	memset(&r, 0, sizeof(r));
	while (at < size) {
		size_t want = msgep_cm_reader_wants(&r);
		struct msgep_cm_msg msg;
		int ret;

		MUST(want && want <= sizeof(r.buf) - r.have);
		if (want > size - at)
			want = size - at;
		if (want > chunk)
			want = chunk;
		memcpy(r.buf + r.have, data + at, want);
		at += want;
		ret = msgep_cm_reader_add(&r, want, bells);
		if (ret < 0) {
			MUST(msgep_cm_parse(r.buf, r.have, &msg) < 0);
			return;
		}
		if (!ret)
			continue;
		MUST(!msgep_cm_reader_wants(&r));
		MUST(!msgep_cm_parse(r.buf, r.have, &msg));
		check_message(r.buf, r.have);
		r.have = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	check_message(data + 1, size - 1);
	check_reader(data + 1, size - 1, 1 + (data[0] & 127), data[0] >> 7);
	check_reader(data + 1, size - 1, SIZE_MAX, data[0] >> 7);
	return 0;
}
