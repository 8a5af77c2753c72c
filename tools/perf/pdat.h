/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the DAT side's connection part and data part share. */
#ifndef DAT_PERF_PDAT_H
#define DAT_PERF_PDAT_H

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "layer.h"

struct pdat_dev {
	struct perf_dev base;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	struct sockaddr_storage addr;
	DAT_IA_ATTR attr;
	bool has_srq;
	bool has_op;
};

struct pdat_hub {
	struct perf_hub base;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd[2];
	DAT_EVD_HANDLE conn_evd;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

struct pdat_side {
	struct perf_side base;
	DAT_EP_HANDLE ep;
	DAT_LMR_CONTEXT lmr_context;
	bool active;
};

/* Prints the call and both strings of dat_strerror; returns a negative errno. */
int pdat_error(DAT_RETURN ret, const char *call);

static inline struct pdat_dev *pdat_dev(struct perf_dev *dev)
{
	return (struct pdat_dev *)dev;
}

static inline struct pdat_hub *pdat_hub(struct perf_hub *hub)
{
	return (struct pdat_hub *)hub;
}

static inline struct pdat_side *pdat_side(struct perf_side *s)
{
	return (struct pdat_side *)s;
}

/* Keeps the first error and continues. */
void pdat_keep_error(int *err, DAT_RETURN ret, const char *call);

/* pdat_hub.c */
int pdat_hub_open(struct perf_dev *dev, struct perf_hub **hub);
int pdat_hub_close(struct perf_hub *hub);
int pdat_side_open(struct perf_hub *hub, struct perf_side **side);
int pdat_side_close(struct perf_side *s);

/* pdat_cm.c */
int pdat_listen(struct perf_dev *dev, struct perf_listen_addr *listen_addr);
int pdat_connect(struct perf_side *s, const struct perf_listen_addr *listen_addr);
int pdat_accept(struct perf_side *s);
int pdat_established(struct perf_side *s);
int pdat_disconnect(struct perf_side *s);

/* pdat_data.c */
int pdat_post_recv(struct perf_side *s, struct perf_slot *slot);
int pdat_post_shared(struct perf_hub *hub, struct perf_slot *slot);
int pdat_post(struct perf_side *s, const struct perf_work *w);
int pdat_reap(struct perf_hub *hub, enum perf_queue q, int max);
int pdat_wait(struct perf_hub *hub, enum perf_queue q, int max, int timeout_ms);
int pdat_check_event(const DAT_EVENT *event);
int pdat_wait_any(struct perf_hub *hub, int timeout_ms);

#endif
