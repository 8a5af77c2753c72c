/* SPDX-License-Identifier: BSD-2-Clause */
/* The libfabric side of an IA: which provider and interface, opened objects, limits.
 *
 * libfabric is loaded with dlopen when the first IA is opened: its Debian package pulls in a
 * library that replaces the program's handlers of fatal signals while it is being loaded.
 */
#ifndef DOFI_FAB_H
#define DOFI_FAB_H

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

/* All modes of memory registration, to require none. (The two that stand for several of them are
 * deprecated in libfabric 2.x.) */
#define DOFI_MR_ANY \
	(FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | \
	 FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT | FI_MR_ENDPOINT | FI_MR_HMEM | FI_MR_COLLECTIVE)

/* Maximum number of segments of an operation, over any fabric. */
#define DOFI_IOV_MAX 30

/* Maximum number of completions that one read of a CQ requests. */
#define DOFI_CQ_BATCH 16

/* libfabric entry points that are real symbols. */
struct dofi_lib {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	uint32_t (*version)(void);
};

extern struct dofi_lib dofi_lib;

struct dofi_fab;
struct dofi_fabric_ops;
struct msgep_secret;
struct msgep_transport;

/* fi_control of endpoints and listeners of msgep, before fi_connect and fi_listen: the qualifier
 * (uint64_t) to connect to or to listen on; Unix sockets are named after it. */
#define DOFI_CONTROL_QUAL 0x44415451

/* One descriptor per fabric: names and properties. */
struct dofi_fabric_desc {
	const char *name;                  /* in "provider=…" and IA names */
	const char *prov_name;             /* libfabric's */
	uint8_t wire_id;                   /* in connection headers; never reused */
	const struct dofi_fabric_ops *ops; /* fabric/fab_ops.h */
	/* Chooses the IA's address before libfabric is loaded; NULL: `find_info` does it. */
	int (*find_address)(struct dofi_fab *fab, const char *wanted);
	/* Fills fab->info and the capabilities. `wanted`: what the user named, or NULL. */
	int (*find_info)(struct dofi_fab *fab, const char *wanted);
	bool over_device;          /* RDM endpoints over an RDMA device, whose address is the
			   * adapter's */
	bool seals_cm;             /* its connection messages are sealed (proto/cm_seal.h); the
			   * handshake of others has proofs (proto/cm_secret.h) */
	size_t max_iov;            /* segments; a device may take fewer (fab->max_iov) */
	uint32_t cm_data;          /* bytes of a connection message, at most DOFI_CM_MAX */
	bool cm_parts;             /* longer ones are sent in parts (proto/cm_part.h) */
	uint32_t cm_header;        /* of these, bytes of our header (proto/cm_proto.h) */
	size_t rx_depth, tx_depth; /* of a device: receives, requests that one endpoint has at
				    * once */
	bool qual_in_name;         /* a listener's name holds the whole qualifier */
	bool hidden;               /* for tests: not listed in messages */
	bool delegates_atomics;    /* for tests: as a device without atomic operations */
	bool without_libfabric;    /* uses none of its endpoints: it is not loaded */
	bool answers_late;         /* an answer of the peer takes longer than a copy of 64 KiB */
	bool host_only;            /* reaches this host only, through no interface */
	/* endpoints of this library (msgep/msgep.h); NULL: libfabric's */
	const struct msgep_transport *transport;
	/* used instead if the peer is on this host */
	const struct msgep_transport *local_transport;
};

/* The port of a device that the adapter uses, when it was opened. */
struct dofi_fab_port {
	char number[12], state[16], gid[48], node_guid[24];
};

struct dofi_fab {
	const struct dofi_fabric_desc *desc;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	int eq_fd;
	int cm_fd;              /* inside the event queue (ops->cm_fd), or -1 */
	union dofi_addr addr;   /* the IA's address, port 0 */
	bool addr_named;        /* chosen by the user: bind to it and to nothing else */
	union dofi_addr *addrs; /* over msgep: all addresses of the interface that the user
				 * named, `addr` first; ports 0 */
	size_t n_addrs;         /* 0: an address was named, or nothing */
	char netdev[64];
	uint32_t lib_version; /* fi_version(); 0: libfabric is not used */

	/* Capabilities: all that the core knows of a fabric (test/structure/check). */
	bool has_msg_prefix;        /* a prefix leads each message (ops->send_prefixed) */
	bool immed;                 /* writes with immediate data consume a peer's receive */
	bool atomics;               /* atomic operations on memory of the peer's, executed by the */
	bool software_atomics;      /* fabric, or by the library of the target (object/amo.h) */
	bool writes_complete_early; /* before their data has been placed */
	uint8_t flush_bytes;        /* length of a read that waits until it has been */
	bool auto_progress;         /* operations proceed without calls into the fabric */
	bool checks_pz;             /* accesses of peers are checked against the EP's PZ */
	bool zero_based;            /* remote addresses can be offsets into a region */
	bool narrow_cq_data;        /* completion data is 32 bits: immediate data, a key to
			      * invalidate, or a connection id */
	bool early_flush;           /* operations may be flushed before the connection's event,
			      * and an SRQ's buffers without having been used */
	bool connect_blocks;        /* a connect call waits until the host answers */
	bool await_route;           /* the EQ does not say which attempt has no route */
	bool datagrams;       /* datagram endpoints: the adapter has an IP address, no secret */
	bool traffic_classes; /* connections have one: their packets, if any, carry a DSCP */
	bool limits_reads;    /* a peer serves a limited number of reads at a time */

	/* Limits. */
	uint64_t atomic_access; /* libfabric's right for atomic operations of peers; 0: none */
	size_t mtu;
	uint8_t min_batch;           /* minimum number of completions that one read of a CQ
				      * requests */
	uint32_t srq_depth;          /* of a shared receive context; 0: there are none */
	size_t max_iov;              /* segments of one message */
	size_t max_rdma_iov;         /* segments of one RDMA operation */
	size_t prefix_iov;           /* segments that a message has in addition to these */
	size_t msg_overhead;         /* bytes of the fabric's maximum that messages lose */
	bool lost;                   /* device or address is lost; cm_lock */
	size_t cq_known_size;        /* a CQ of this size can be opened (verbs/cq_reservation.c) */
	char device[64];             /* of the fabric, "" where it has none */
	struct dofi_fab_port port;   /* empty without a device */
	bool cq_external_lock;       /* the EVD's lock replaces libfabric's (object/evd.h) */
	size_t max_read_iov;         /* segments that one RDMA read of the fabric takes, and */
	size_t max_write_iov;        /* one write; operations of more are split */
	size_t inject;               /* messages up to this length are copied when posted */
	size_t amo_port_len;         /* bytes of an acceptance for the port of atomic operations */
	size_t max_priv;             /* private data left to the consumer */
	struct msgep_secret *secret; /* shared with peers (proto/cm_seal.h); NULL: none, or over
				      * msgep (proto/cm_secret.h) */
	uint32_t max_size;           /* bytes of one message or RDMA operation */
};

void dofi_fab_close(struct dofi_fab *fab);
/* Calls fn for each unknown "key=value" of the parameters; `nearest`: the known key with the
 * smallest edit distance, or NULL. */
void dofi_fab_unknown_words(const char *params, void (*fn)(const char *word, const char *nearest));

/* True if fi_version() is below the given one. */
static inline bool dofi_fab_older(const struct dofi_fab *fab, uint32_t major, uint32_t minor)
{
	return FI_MAJOR(fab->lib_version) < major ||
	       (FI_MAJOR(fab->lib_version) == major && FI_MINOR(fab->lib_version) < minor);
}

#endif
