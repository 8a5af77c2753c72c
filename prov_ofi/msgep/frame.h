/* SPDX-License-Identifier: BSD-2-Clause */
/* What travels on a connection of msgep.h.
 *
 * Each direction has two ordered channels: requests (messages, RDMA writes, requests to read) and
 * answers (data that was read, acknowledgements). Answers never wait for anything that the
 * receiving program has to do, so a message without a receive holds up the requests behind it and
 * nothing else.
 *
 * A frame is a header of 40 bytes and up to a transport's limit of payload; numbers are
 * little-endian. A message, a write or the data of a read is cut into as many frames as it takes:
 * the first bears FIRST and all fields, the last bears LAST.
 *
 *   MSGEP_MSG    requests  total: bytes of the message; value: completion data (with DATA)
 *   MSGEP_WRITE  requests  total: bytes; value: target address; key: target key
 *   MSGEP_READ   requests  total: bytes wanted; value: source address; key: source key; no payload
 *   MSGEP_DATA   answers   to the oldest unanswered read; total as asked; key: 0, or (FIRST and
 *                        LAST, no payload) the FI_* code for which it is refused
 *   MSGEP_IMM   requests  behind a write that has completion data: total: bytes of that write;
 *                        value: the data. It takes a receive, whose completion says both;
 *                        no payload
 *   MSGEP_ADD    requests  value: target address, eight bytes; key: target key; total: 8; payload:
 *                        what is added (8 bytes). Answered with MSGEP_DATA: what was there
 *   MSGEP_SWAP   requests  the same; payload: what is compared, what is swapped in (8 bytes each)
 *   MSGEP_ACK    answers   value: number of requests with ACK that are done since the connection
 *                        began; key: 0, or the code for which the next one was refused. A transport
 *                        may tell the number otherwise, and needs frames for refusals only
 *
 * Between processes that may read each other's memory, the data of a large message or write does
 * not travel in frames: with PULL the payload is a list of segments (struct msgep_segment) of the
 * sender's memory, behind them what is to be taken from the frame itself, the last bytes of a
 * write. Whoever pulls says so by an ACK, which the last frame asks for (ACK); writes and notes
 * always do.
 * With PULL, a request to read says that the reader could take the data itself; a DATA frame with
 * PULL then has one segment instead of the data. It may be taken as long as it is not revoked
 * (proto_read.c), and nobody is told when that has been done.
 *
 * Where long data has an endpoint of its own (proto_bulk.c), PULL announces a transfer there: one
 * segment, whose address is the number of the transfer.
 *
 *   MSGEP_GO     answers   value: number of a transfer for which memory has been posted
 *
 * After a refusal, and after a message that was longer than its receive, whatever follows on the
 * channel is dropped: the connection is about to end.
 */
#ifndef DOFI_MSGEP_FRAME_H
#define DOFI_MSGEP_FRAME_H

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
	MSGEP_GO
};

enum { MSGEP_FIRST = 1, MSGEP_LAST = 2, MSGEP_HAS_DATA = 4, MSGEP_PULL = 8, MSGEP_WANTS_ACK = 16 };

struct msgep_segment {
	uint64_t addr, len;
};

struct msgep_frame {
	uint64_t mark;			/* the transport's own */
	uint32_t len;			/* payload */
	uint32_t key;
	uint64_t total;
	uint64_t value;
	uint8_t kind, flags;
	uint8_t segments;		/* with PULL: in the list */
	uint8_t counts[5];		/* the transport's own; 0 where it has none */
};

#define MSGEP_FRAME_HDR sizeof(struct msgep_frame)
/* Every transport takes so much in one frame. */
#define MSGEP_PAYLOAD_LEAST 16

static inline void *msgep_payload(struct msgep_frame *f)
{
	return f + 1;
}

#endif
