/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares a fake fabric with connected endpoints and a shared receive context, driven by the fuzz
 * target.
 */
#ifndef FUZZ_FABRIC_MSG_H
#define FUZZ_FABRIC_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fid;
struct fid_ep;

/* Fills dofi_lib. */
void fabric_msg_open(void);
/* Everything has been closed. */
bool fabric_msg_closed(void);
/*
 * Delivers a message to the oldest receive of the shared context; the buffer after it must not be
 * read. False if none is posted.
 */
bool fabric_msg_deliver(const void *data, size_t len);
/*
 * Delivers at most `len` bytes to the oldest receive of the endpoint, or fails it. False if none
 * is posted.
 */
bool fabric_msg_arrive(const struct fid_ep *ep, size_t len, int err);
/* The same with all data that it has memory for, and what follows it if the last part of that
 * memory has `room` bytes. */
bool fabric_msg_arrive_with(const struct fid_ep *ep, size_t room, const void *more, size_t len);
/* Posts an event. fid NULL: a connection request at the listener. */
void fabric_msg_event(uint32_t event, struct fid *fid, const void *param, size_t len);
/* An event that reports an error of the endpoint. */
void fabric_msg_event_error(struct fid *fid, int err);
/* Holds completions of sends until this is reset. */
void fabric_msg_hold(bool hold);
/* The next `n` sends return -FI_EAGAIN. */
void fabric_msg_refuse(unsigned int n);
/* Fails the oldest held send. */
void fabric_msg_fail_send(void);

#endif
