/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA devices of the fabric "verbs": selection, capabilities, operations.
 *
 * The kernel's connection manager finds a device by the IP address of the network interface that
 * it belongs to, so an IA on a device has the address of that interface, like any other IA.
 */
#ifndef DOFI_DEVICE_H
#define DOFI_DEVICE_H

#include "fabric/fab_ops.h"

/* True if the kernel has a device of this name, ready or not. */
bool dofi_device_known(const char *name);
/* True if an active device exists that this user may use. */
bool dofi_device_any(void);
/* find_info of struct dofi_fabric_desc: of a device's own endpoints, and of RDM endpoints over it,
 * which get the addresses of its interface unless an address was named. */
int dofi_verbs_find(struct dofi_fab *fab, const char *wanted);
int dofi_verbs_find_rdm(struct dofi_fab *fab, const char *wanted);
/* True for soft-iWARP, whose driver differs from those of hardware: a connect call blocks until TCP
 * has an answer, for up to two minutes. */
bool dofi_device_is_siw(const struct dofi_fab *fab);

/* QUIRK libfabric<2.2 verbs: takes the pointers to atomic operands as their values. */
static inline bool dofi_device_takes_values(const struct dofi_fab *fab)
{
	return dofi_fab_older(fab, 2, 2);
}

extern const struct dofi_fabric_ops dofi_verbs_ops;

/* ---- fabrics/verbs/device_port.c ---- */

/* Fills fab->port; fab->device and fab->netdev are known. */
void dofi_device_describe_port(struct dofi_fab *fab);
/* Reads the first line of the file, without its end. */
bool dofi_device_read_line(const char *path, char *line, int room);

/* ---- fabrics/verbs/cq_reservation.c: a completion queue of hardware must never overflow ---- */

/* Opens a CQ for `qlen` and streams that may be added later, or as large as the device allows. Sets
 * evd->cq_size. */
int dofi_device_open_cq(struct dofi_evd *evd, struct fi_cq_attr *attr);
/* Reserves entries for the operations that the connection may have outstanding, and sets its queue
 * lengths and those of `info`; fails if a CQ has no entries left. Caller holds cm_lock. */
int dofi_device_reserve(struct dofi_conn *conn, struct dofi_ep *ep, struct fi_info *info);
void dofi_device_release(struct dofi_conn *conn, struct dofi_ep *ep);

/* ---- fabrics/verbs/device_mr.c: the device chooses the keys of memory ---- */

int dofi_device_register_mr(struct dofi_ia *ia, const struct dofi_mr_request *req,
			    struct fid_mr **mr, uint32_t *key);
void dofi_device_close_mr(struct dofi_ia *ia, struct fid_mr *mr);
uint32_t dofi_device_find_mr(struct dofi_ia *ia, uint32_t key);

#endif
