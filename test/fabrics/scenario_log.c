/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the events of a side as a normalised log, which is equal over all fabrics. */
#include <stdarg.h>
#include <stdio.h>

#include "scenario.h"

struct sc_log *sc_log;

/* The normalisation: what DAT leaves open, and may therefore differ between fabrics. Everything
 * else is logged as it is. In the log the name of the rule stands for any of its values.
 *
 * rule       values                 where, and why it is open
 * GONE       DISCONNECTED, BROKEN   at the peer of an endpoint that broke, whose process died, or
 *                                   that disconnected when messages of it had no receive: one
 *                                   fabric sees the failure or the loss, another one the close.
 * UNMATCHED  SUCCESS, FLUSHED,      sends for which the peer posted no receive, when the
 *            TRANSPORT,             connection ends: whether a message has left counts on a
 *            RECEIVER_NOT_READY     stream, whether it was received counts on an RDMA fabric.
 * TOO_LONG   any                    the send that did not fit into the peer's receive: only a
 *                                   fabric that acknowledges receives can tell the sender.
 *
 * Also not logged: which buffer of an SRQ a message took ("buffers may be used in any order"), the
 * contents of a buffer whose completion is no success, and the flush of a request without
 * completion that was posted in an earlier step, unless the end is graceful. Its data has arrived,
 * but only a later completion informs the requester of that; an abrupt end treats the request as
 * one in progress, which may succeed or fail. That of a stream has succeeded when the kernel
 * accepted it, others when the peer's acknowledgement has arrived.
 */

bool sc_open_flush(const struct sc_step *step, int now, const struct sc_op *op)
{
	bool graceful = step->act == SC_DRAIN || (step->act == SC_DISCONNECT && step->graceful);

	return !op->shown && op->step < now && !graceful;
}

const char *sc_conn_text(DAT_EVENT_NUMBER number, enum sc_open open)
{
	if (open == SC_OPEN_PEER_END &&
	    (number == DAT_CONNECTION_EVENT_DISCONNECTED || number == DAT_CONNECTION_EVENT_BROKEN))
		return "GONE";
	return rd_event_text(number);
}

const char *sc_status_text(DAT_DTO_COMPLETION_STATUS status, enum sc_open open)
{
	static const char *const names[] = {
		"SUCCESS",          "FLUSHED",
		"LOCAL_LENGTH",     "LOCAL_EP",
		"LOCAL_PROTECTION", "BAD_RESPONSE",
		"REMOTE_ACCESS",    "REMOTE_RESPONDER",
		"TRANSPORT",        "RECEIVER_NOT_READY",
		"PARTIAL_PACKET",   "RMR_OPERATION_FAILED",
	};
	unsigned int n = (unsigned int)status;

	if (n >= sizeof(names) / sizeof(names[0]))
		return "UNKNOWN";
	if (open == SC_OPEN_TOO_LONG)
		return "TOO_LONG";
	if (open == SC_OPEN_UNMATCHED &&
	    (status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED ||
	     status == DAT_DTO_ERR_TRANSPORT || status == DAT_DTO_ERR_RECEIVER_NOT_READY))
		return "UNMATCHED";
	return names[n];
}

void sc_write(int side, int ep, enum sc_stream stream, const char *fmt, ...)
{
	__typeof__(sc_log->part[0][0][0]) *part = &sc_log->part[side][ep][stream];
	size_t room = sizeof(part->text) - part->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(part->text + part->len, room, fmt, ap);
	va_end(ap);
	RL_CHECK(n >= 0 && (size_t)n < room, "a log is full");
	part->len += (size_t)n;
}

void sc_print(const struct sc_scene *scene)
{
	static const char *const waits[] = { "polls", "waits on EVDs", "waits on a CNO" };
	static const char *const streams[] = { "call", "conn", "recv", "request", "cr" };

	printf("%u: %d endpoints, %s%s%s%s%s%s%s\n", scene->number, scene->eps, waits[scene->wait],
	       scene->merged ? ", one EVD" : "", scene->unsignalled ? ", unsignalled" : "",
	       scene->srq[0] ? ", SRQ left" : "", scene->srq[1] ? ", SRQ right" : "",
	       scene->solicited[0] ? ", solicited left" : "",
	       scene->solicited[1] ? ", solicited right" : "");
	for (int i = 0; i < scene->steps; i++)
		printf("%u: step %d: %s of endpoint %d by the %s\n", scene->number, i,
		       sc_act_name(scene->step[i].act), scene->step[i].ep,
		       scene->step[i].by ? "right" : "left");
	for (int side = 0; side < 2; side++)
		for (int ep = 0; ep < scene->eps; ep++)
			for (int stream = 0; stream < SC_STREAMS; stream++) {
				const char *p = sc_log->part[side][ep][stream].text;

				for (int len; *p; p += len + (p[len] == '\n')) {
					for (len = 0; p[len] && p[len] != '\n'; len++)
						;
					printf("%u: %s %d %s: %.*s\n", scene->number,
					       side ? "right" : "left", ep, streams[stream], len,
					       p);
				}
			}
	fflush(stdout);
}

/*
 * The fabric may have written it: ThreadSanitizer does not see the synchronisation with the peer.
 */
__attribute__((no_sanitize("thread"))) uint32_t sc_hash(uint32_t hash, const void *mem, size_t len)
{
	const unsigned char *p = mem;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 16777619u;
	return hash;
}
