/* SPDX-License-Identifier: BSD-2-Clause */
/* What two processes exchange outside the fabric, and its form on the network. */
#ifndef DAT_PERF_WIRE_H
#define DAT_PERF_WIRE_H

#include "layer.h"

/* All numbers big-endian, sizes fixed; they return 0 or a negative errno, and have printed why. */
int perf_put_where(int fd, const struct perf_where *w);
int perf_get_where(int fd, struct perf_where *w, int timeout_ms);
int perf_put_target(int fd, const struct perf_target *t);
int perf_get_target(int fd, struct perf_target *t, int timeout_ms);
/* Whether a layer can do what is asked for: 0 or -EOPNOTSUPP. */
int perf_put_able(int fd, int able);
int perf_get_able(int fd, int *able, int timeout_ms);

/* plan.c: lines "name=value", the first of which tells the version, up to an empty line */
#define PERF_PLAN_ROOM 4096
int perf_plan_write(const struct perf_plan *p, char *text, size_t room);
int perf_plan_read(struct perf_plan *p, char *text, char *why, size_t why_len);
bool perf_name_ok(const char *name);

/* control.c: the TCP connection between client and server */
int perf_control_listen(const char *bind, const char *port);
int perf_control_dial(const char *host, const char *port, const struct perf_plan *p, char *why,
		      size_t why_len);
int perf_control_hello(int fd, struct perf_plan *p, char *why, size_t why_len);
int perf_control_answer(int fd, const char *refusal);
void perf_control_here(int fd, char *addr, size_t len);
bool perf_same_host(int fd);

#endif
