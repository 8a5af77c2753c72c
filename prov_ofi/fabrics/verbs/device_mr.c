/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers memory with a device, which chooses the keys.
 *
 * A device accesses local memory by its registration, too, so every region has one. The keys that
 * peers use are recorded in ia->keys.
 */
#include <errno.h>

#include "base/log.h"
#include "fabrics/verbs/device.h"
#include "object/rmr.h"

static int device_record_key(struct dofi_ia *ia, struct fid_mr *mr, uint32_t context, uint32_t *key)
{
	uint64_t given = fi_mr_key(mr);

	if (!given || given > UINT32_MAX) {
		dofi_log(DOFI_LOG_ERROR, "the fabric's memory key %#llx does not fit 32 bits",
			 (unsigned long long)given);
		return -EOVERFLOW;
	}
	*key = (uint32_t)given;
	return dofi_key_insert(&ia->keys, *key, context) ? 0 : -FI_ENOMEM;
}

int dofi_device_register_mr(struct dofi_ia *ia, const struct dofi_mr_request *req,
			    struct fid_mr **mr, uint32_t *key)
{
	struct dofi_mr_request r = *req;
	struct fi_mr_attr attr;
	struct iovec iov;
	int ret;

	/* There is no key for memory without remote rights, but each window needs its own. */
	if (r.window && !r.priv) {
		r.address = (uintptr_t)&r.window->nothing;
		r.length = sizeof(r.window->nothing);
		r.priv = DAT_MEM_PRIV_REMOTE_READ_FLAG;
		r.zero_based = false;
	}
	/* Devices address registered memory as the process does. */
	if (r.zero_based && (r.priv & DOFI_PRIV_REMOTE))
		return -EOPNOTSUPP;
	attr = dofi_mr_attr(&ia->fab, &r, &iov);
	attr.offset = r.zero_based ? r.address : 0;
	ret = fi_mr_regattr(ia->fab.domain, &attr, 0, mr);
	if (ret || !(r.priv & DOFI_PRIV_REMOTE))
		return ret;
	ret = device_record_key(ia, *mr, r.context, key);
	if (ret)
		fi_close(&(*mr)->fid);
	return ret;
}

void dofi_device_close_mr(struct dofi_ia *ia, struct fid_mr *mr)
{
	dofi_key_remove(&ia->keys, (uint32_t)fi_mr_key(mr));
	fi_close(&mr->fid);
}

uint32_t dofi_device_find_mr(struct dofi_ia *ia, uint32_t key)
{
	return dofi_key_find(&ia->keys, key);
}
