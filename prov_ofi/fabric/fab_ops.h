/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of a kind of fabric: what has to be done differently because of the provider.
 *
 * fabrics/verbs/ has those of devices, with libfabric's own endpoints; fabrics/emulated/ those of
 * connected endpoints of this library (msgep/). Posting and completing use none of them, except
 * for messages with a prefix and RDMA operations that must be split. What they need to know is a
 * capability in struct dofi_fab, or a copy of it in an object.
 */
#ifndef DOFI_FAB_OPS_H
#define DOFI_FAB_OPS_H

#include "fabric/fab.h"

struct dofi_conn;
struct dofi_dto;
struct dofi_ep;
struct dofi_evd;
struct dofi_ia;
struct dofi_mr_request;
struct dofi_msg_prefixes;
struct dofi_srq;

struct dofi_fabric_ops {
	/* Opens fab->fabric of fab->info. */
	int (*open_fabric)(struct dofi_fab *fab);
	/* fab->domain is open: sets what depends on it. NULL: nothing does. */
	void (*examine_domain)(struct dofi_fab *fab);
	/* Returns the descriptor inside the event queue that keeps listeners and connections of a
	 * terminated process alive, -1: not known. NULL: there is none. */
	int (*cm_fd)(int eq_fd);
	/* Opens evd->cq. attr->size: what the EVD's length suggests. */
	int (*open_cq)(struct dofi_evd *evd, struct fi_cq_attr *attr);
	/* Opens srq->srx, of at least srq->max_dtos entries, and what receives are posted to. 0 or
	 * a negative error. */
	int (*open_srq)(struct dofi_srq *srq, struct fi_rx_attr *attr);
	/* Makes room for n entries; NULL: there is room for srq->depth. Caller holds srq->lock. 0
	 * or a negative error. */
	int (*resize_srq)(struct dofi_srq *srq, uint32_t n);
	void (*close_srq)(struct dofi_srq *srq);

	/* Memory regions (object/mr.h). */
	/* Registers the memory. *mr: NULL if no peer and no device needs the registration. *key,
	 * for peers: unchanged without remote rights. */
	int (*register_mr)(struct dofi_ia *ia, const struct dofi_mr_request *req,
			   struct fid_mr **mr, uint32_t *key);
	void (*close_mr)(struct dofi_ia *ia, struct fid_mr *mr);
	/* Returns the memory context of a key; not a valid context if there is no such key. */
	uint32_t (*find_mr)(struct dofi_ia *ia, uint32_t key);

	/* Endpoints. Caller holds cm_lock. */
	/* Sets in `info` what the endpoint of this connection needs, and how much of the EP's
	 * queues may be at the fabric at once. */
	int (*prepare_ep)(struct dofi_conn *conn, struct dofi_ep *ep, struct fi_info *info);
	/* Gives back what prepare_ep has reserved; also after it has failed, and twice. */
	void (*release_ep)(struct dofi_conn *conn, struct dofi_ep *ep);
	/* The EP has left the connection, whose endpoint is closed next. True: buffers of the EP's
	 * SRQ will complete as flushed, a moment later. */
	bool (*detach_ep)(struct dofi_conn *conn, struct dofi_ep *ep);

	/* Connections. */
	/* Tells an endpoint or a listener its qualifier, before fi_connect or fi_listen. */
	int (*set_qual)(struct fid *fid, uint64_t qual);
	/* Waits at most `ms` for an answer of the host, with fab->connect_blocks. Takes no lock. */
	int (*probe_host)(const union dofi_addr *from, const union dofi_addr *to, int ms);
	/* An error of the event queue; puts the errno of the cause into it. True: the adapter is
	 * lost. */
	bool (*eq_error)(struct fi_eq_err_entry *err);
	/* An attempt was refused with this provider's code and `len` bytes of data: true if the
	 * peer's host has no listener there. */
	bool (*no_listener)(int code, size_t len);
	/* Error of an attempt, or of a listener, at a port that the system chose: true if another
	 * one may do. */
	bool (*port_taken)(int err);

	/* Outages. */
	/* *fd: readable when addresses and interfaces change, -1: nothing to watch. 0 or a negative
	 * error. */
	int (*watch)(int *fd);
	/* True if the adapter's address is up. Reads all that has arrived at the descriptor. */
	bool (*is_up)(const struct dofi_fab *fab, int fd);

	/* DAT_DTO_COMPLETION_STATUS of a completion in error. */
	uint8_t (*cq_status)(struct dofi_evd *evd, const struct dofi_dto *dto,
			     const struct fi_cq_err_entry *err);

	/* With fab->has_msg_prefix (fabrics/verbs/msg_prefix.h). fid: endpoint or SRX. */
	ssize_t (*send_prefixed)(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
				 struct dofi_dto *dto, uint64_t data);
	/* A write of immediate data: the write, if it has bytes, then a message without contents.
	 * `data`: the completion data of such a write. */
	ssize_t (*write_and_send)(struct fid_ep *fid, const struct dofi_msg_prefixes *w,
				  size_t slot, struct dofi_dto *dto, const struct fi_msg_rma *write,
				  uint64_t data);
	ssize_t (*recv_prefixed)(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
				 struct dofi_dto *dto);
	/* Reads the prefix of a received message and copies what was bounced. If the message
	 * follows a write, adds FI_REMOTE_WRITE to *flags, and *len becomes the bytes of the write.
	 * Returns a DAT_DTO_COMPLETION_STATUS; may be repeated. */
	uint8_t (*read_prefix)(struct dofi_evd *evd, struct dofi_dto *dto, size_t *len,
			       uint64_t *data, uint64_t *flags);
	/* With fab->narrow_cq_data: announces the immediate data of the write, or the key that the
	 * message invalidates, to the peer's SRQ. After -FI_EAGAIN the next call continues. */
	ssize_t (*announce)(struct fid_ep *fid, struct dofi_dto *dto);
	/* Replaces what the provider takes for the operands of an atomic operation; NULL: nothing.
	 * `compare` is used by a swap only. */
	void (*adapt_atomic)(const struct dofi_fab *fab, const struct dofi_dto *dto,
			     struct fi_msg_atomic *msg, struct fi_ioc *compare);
	/* A read or write of more segments than one of the fabric has at most (`most`). */
	ssize_t (*split_rdma)(struct fid_ep *fid, struct dofi_dto *dto,
			      const struct fi_msg_rma *whole, size_t most, uint64_t flags);
};

/* What a code of libfabric means, where the provider has no better one. */
uint8_t dofi_fab_cq_status(const struct fi_cq_err_entry *err);

#endif
