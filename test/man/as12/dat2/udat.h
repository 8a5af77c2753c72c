/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps the API of 2.0 to 1.2: calls that only 2.0 has return ABSENT. Found instead of
 * <dat2/udat.h>, so that the same incorrect calls can be made in both versions.
 */
#ifndef AS12_UDAT_H
#define AS12_UDAT_H

#include <dat/udat.h>

/* The result of a call that 1.2 does not have. */
#define ABSENT ((DAT_RETURN)-1)

typedef int DAT_VA_TYPE;
typedef int DAT_HA_RELATIONSHIP;

#define DAT_VA_TYPE_VA 0
#define DAT_SEG_LENGTH DAT_VLEN

#define dat_lmr_create(ia, type, region, len, pz, rights, va, lmr, key, remote, size, addr) \
	((void)(va), \
	 (dat_lmr_create)(ia, type, region, len, pz, rights, lmr, key, remote, size, addr))
#define dat_rmr_bind(rmr, lmr, triplet, rights, va, ep, cookie, flags, key) \
	((void)(lmr), (void)(va), (dat_rmr_bind)(rmr, triplet, rights, ep, cookie, flags, key))

#define dat_cr_reject(cr, len, data) ((void)(data), (len) ? ABSENT : (dat_cr_reject)(cr))

#define dat_extension_op(...) ABSENT
#define dat_registry_providers_related(a, b, answer) ((void)(answer), ABSENT)
#define dat_cno_fd_create(ia, fd, cno) ((void)(int *)(fd), ABSENT)
#define dat_cno_trigger(...) ABSENT
#define dat_rmr_create_for_ep(...) ABSENT
#define dat_ep_post_send_with_invalidate(...) ABSENT
#define dat_ep_post_rdma_read_to_rmr(...) ABSENT

#endif
