/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames: the units that travel on a connection of msgep.h.
 *
 * Each direction has two ordered channels: requests (messages, RDMA writes, read requests) and
 * answers (data that was read, acknowledgements). Answers never depend on anything that the
 * receiving program has to do, so a message without a receive delays the requests after it and
 * nothing else.
 *
 * A frame is a header of 40 bytes and payload up to a limit of the transport; numbers are
 * little-endian. A message, a write or the data of a read is split into as many frames as it needs:
 * the first one carries FIRST and all fields, the last one LAST.
 *
 *   MSGEP_MSG    requests  total: bytes of the message; value: completion data (with HAS_DATA);
 *                          key: owned by the transport
 *   MSGEP_WRITE  requests  total: bytes; value: target address; key: target key
 *   MSGEP_READ   requests  total: bytes requested; value: source address; key: source key; no
 *                          payload
 *   MSGEP_DATA   answers   answers the oldest unanswered read; total as requested; key: 0, or
 *                          (FIRST and LAST, no payload) the FI_* code of the refusal
 *   MSGEP_IMM    requests  immediate frame after a write with completion data: total: bytes of
 *                          that write; value: the data. It consumes a receive, whose completion
 *                          reports both; no payload
 *   MSGEP_ADD    requests  value: target address of eight bytes; key: target key; total: 8;
 *                          payload: the addend (8 bytes). MSGEP_DATA returns the previous value
 *   MSGEP_SWAP   requests  the same; payload: compare value, swap value (8 bytes each)
 *   MSGEP_ACK    answers   value: number of requests with WANTS_ACK completed since the connection
 *                          began; key: 0, or the code for which the next one was refused;
 *                          total: owned by the transport. A transport may carry the number
 *                          itself and use frames for refusals only
 *
 * Between processes that may read each other's memory (CMA), the data of a large message or write
 * does not travel in frames: with PULL the payload is a list of segments (struct msgep_segment) of
 * the sender's memory, followed by the last bytes of a write, which are taken from the frame. The
 * reader acknowledges by an ACK, which the last frame requests (WANTS_ACK); writes and immediate
 * frames always request one.
 * PULL in a read request means that the reader can pull the data itself; a DATA frame with PULL
 * then has one segment instead of the data. The segment may be pulled as long as it is not revoked
 * (proto_read.c); the end of the pull is not reported.
 *
 * Where long data has an endpoint of its own (proto_bulk.c), PULL announces a transfer there: one
 * segment, whose address is the number of the transfer.
 *
 *   MSGEP_GO     answers   value: number of a transfer for which memory has been posted; key: 1 if
 *                          announcements may follow its data (pair_carry.c), else 0
 *
 * With UNSOLICITED the data follows at once, and there is no GO: only while the sender awaits no
 * other GO.
 *
 * After a refusal, and after a message longer than its receive, all further frames of the channel
 * are dropped: the connection is about to end.
 */
#ifndef DOFI_MSGEP_FRAME_H
#define DOFI_MSGEP_FRAME_H

#include <endian.h>
#include <stdint.h>

enum { MSGEP_REQ, MSGEP_ANS, MSGEP_CHANNELS };

enum {
	MSGEP_MSG = 1,
	MSGEP_WRITE,
	MSGEP_READ,
	MSGEP_DATA,
	MSGEP_ACK,
	MSGEP_IMM,
	MSGEP_ADD,
	MSGEP_SWAP,
	MSGEP_GO,
};

/* clang-format off */
enum { MSGEP_FIRST = 1, MSGEP_LAST = 2, MSGEP_HAS_DATA = 4, MSGEP_PULL = 8, MSGEP_WANTS_ACK = 16,
       MSGEP_UNSOLICITED = 32 };
/* clang-format on */

struct msgep_segment {
	uint64_t addr, len;
};

struct msgep_frame {
	uint64_t mark; /* owned by the transport */
	uint32_t len;  /* payload */
	uint32_t key;
	uint64_t total;
	uint64_t value;
	uint8_t kind, flags;
	uint8_t segments;  /* with PULL: number of segments in the list */
	uint8_t counts[5]; /* owned by the transport; 0 where it has none */
};

#define MSGEP_FRAME_HDR sizeof(struct msgep_frame)
/* Payload that every transport accepts in one frame. */
#define MSGEP_PAYLOAD_LEAST 16

static inline void *msgep_payload(struct msgep_frame *f)
{
	return f + 1;
}

/* Converts the numbers of a frame but `mark` and `len` to the order of packets, or back. */
static inline void msgep_frame_swap(struct msgep_frame *f)
{
	f->key = htole32(f->key);
	f->total = htole64(f->total);
	f->value = htole64(f->value);
}

#endif
