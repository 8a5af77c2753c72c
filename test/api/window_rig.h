/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the rig of the cases that use one memory window. */
#ifndef TEST_WINDOW_RIG_H
#define TEST_WINDOW_RIG_H

#include "rmr.h"

/* The window of the cases: bytes 1000 to 2999 of a region for local use only. */
#define FROM 1000
#define LEN 2000

struct rig {
	struct pair p;
	struct buf buf;
	DAT_RMR_HANDLE rmr;
};

/* After pair_open, or a variant of it. */
static inline void rig_fill(struct rig *r)
{
	pair_connect(&r->p);
	buf_make(&r->buf, &r->p.node, 8192, PRIV_LOCAL);
	OK(dat_rmr_create(r->p.node.pz, &r->rmr));
}

static inline void rig_open(struct rig *r)
{
	pair_open(&r->p);
	rig_fill(r);
}

static inline void rig_close(struct rig *r)
{
	rmr_close(&r->p, r->rmr, &r->buf);
}

static inline char *at(const struct rig *r, size_t off)
{
	return r->buf.mem + off;
}

#endif
