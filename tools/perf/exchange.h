/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the messages that two processes exchange outside the fabric. */
#ifndef DAT_PERF_EXCHANGE_H
#define DAT_PERF_EXCHANGE_H

#include "layer.h"

/* Numbers are big-endian, sizes fixed. Return 0, or a negative errno after printing the reason. */
int perf_put_listen_addr(int fd, const struct perf_listen_addr *w);
int perf_get_listen_addr(int fd, struct perf_listen_addr *w, int timeout_ms);
int perf_put_target(int fd, const struct perf_target *t);
int perf_get_target(int fd, struct perf_target *t, int timeout_ms);
/* Whether a layer supports the case: 0 or -EOPNOTSUPP. */
int perf_put_able(int fd, int able);
int perf_get_able(int fd, int *able, int timeout_ms);

/* plan.c: lines "name=value", the first of which has the version, up to an empty line */
#define PERF_PLAN_MAX 4096
int perf_plan_write(const struct perf_plan *p, char *text, size_t room);
int perf_plan_read(struct perf_plan *p, char *text, char *reason, size_t reason_len);
bool perf_name_ok(const char *name);

/* control.c: the TCP connection between client and server */
int perf_control_listen(const char *bind, const char *port);
int perf_control_dial(const char *host, const char *port, const struct perf_plan *p, char *reason,
		      size_t reason_len);
int perf_control_hello(int fd, struct perf_plan *p, char *reason, size_t reason_len);
int perf_control_answer(int fd, const char *refusal);
void perf_control_local_addr(int fd, char *addr, size_t len);
bool perf_same_host(int fd);

#endif
