/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of objects: their sizes, and what is initialised once in each object's memory. */
#include "object/cno.h"
#include "object/coll_handle.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/sp.h"
#include "object/srq.h"

static void kind_setup_evd(void *p)
{
	struct dofi_evd *evd = p;

	dofi_lock_init(&evd->lock);
}

static void kind_setup_cno(void *p)
{
	struct dofi_cno *cno = p;

	pthread_mutex_init(&cno->lock, NULL);
	pthread_cond_init(&cno->left, NULL);
}

static void kind_setup_ep(void *p)
{
	dofi_lock_init(&((struct dofi_ep *)p)->lock);
}

static void kind_setup_srq(void *p)
{
	dofi_lock_init(&((struct dofi_srq *)p)->lock);
}

static void kind_setup_ia(void *p)
{
	struct dofi_ia *ia = p;

	pthread_mutex_init(&ia->obj_lock, NULL);
	pthread_cond_init(&ia->calls_over, NULL);
	dofi_rwlock_init(&ia->uses);
	pthread_mutex_init(&ia->prog_lock, NULL);
	pthread_mutex_init(&ia->cm_lock, NULL);
	pthread_cond_init(&ia->probes_done, NULL);
	pthread_mutex_init(&ia->deferred_lock, NULL);
	pthread_mutex_init(&ia->mr_lock, NULL);
	pthread_mutex_init(&ia->amo.lock, NULL);
	pthread_cond_init(&ia->call_over, NULL);
}

struct dofi_slab dofi_slabs[DOFI_KINDS] = {
	[DAT_HANDLE_TYPE_IA] = DOFI_SLAB_INIT(struct dofi_ia, 2, kind_setup_ia),
	[DAT_HANDLE_TYPE_PZ] = DOFI_SLAB_INIT(struct dofi_pz, 32, NULL),
	[DAT_HANDLE_TYPE_LMR] = DOFI_SLAB_INIT(struct dofi_lmr, 64, NULL),
	[DAT_HANDLE_TYPE_EVD] = DOFI_SLAB_INIT(struct dofi_evd, 32, kind_setup_evd),
	[DAT_HANDLE_TYPE_CNO] = DOFI_SLAB_INIT(struct dofi_cno, 16, kind_setup_cno),
	[DAT_HANDLE_TYPE_EP] = DOFI_SLAB_INIT(struct dofi_ep, 32, kind_setup_ep),
	[DAT_HANDLE_TYPE_RMR] = DOFI_SLAB_INIT(struct dofi_rmr, 32, NULL),
	[DAT_HANDLE_TYPE_SRQ] = DOFI_SLAB_INIT(struct dofi_srq, 8, kind_setup_srq),
	[DAT_HANDLE_TYPE_PSP] = DOFI_SLAB_INIT(struct dofi_sp, 16, NULL),
	[DAT_HANDLE_TYPE_RSP] = DOFI_SLAB_INIT(struct dofi_sp, 16, NULL),
	[DOFI_HANDLE_TYPE_CSP] = DOFI_SLAB_INIT(struct dofi_sp, 16, NULL),
	[DOFI_HANDLE_TYPE_COLLECTIVE] = DOFI_SLAB_INIT(struct dofi_coll_handle, 8, NULL),
	[DAT_HANDLE_TYPE_CR] = DOFI_SLAB_INIT(struct dofi_cr, 32, NULL),
};
