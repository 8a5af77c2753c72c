/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of datagram endpoints of the InfiniBand extension: checks their arguments. */
#include <string.h>

#include "api/ext.h"
#include "base/dat_error.h"
#include "data/dto.h"
#include "object/ud.h"

/* Where a message to the address handle goes: to the handle's host, or to the address in the
 * structure, which received messages have. */
static bool ext_ud_target(const struct dofi_ia *ia, const DAT_IB_ADDR_HANDLE *to,
			  union dofi_addr *addr)
{
	if (!to || !dofi_dgram_qpn_valid(to->qpn))
		return false;
	if (to->ah)
		return dofi_ah_address(ia, to->ah, addr);
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &to->ia_addr, sizeof(to->ia_addr));
	return addr->sa.sa_family == AF_INET || addr->sa.sa_family == AF_INET6;
}

/* The IA of the datagram endpoint, or an error. */
static DAT_RETURN ext_ud_ia(DAT_HANDLE handle, struct dofi_ia **ia)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	bool datagrams;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	dofi_lock(&ep->lock);
	*ia = dofi_obj_ia(&ep->obj);
	datagrams = ep->ud;
	dofi_unlock(&ep->lock);
	if (!dofi_ud_supported(*ia))
		return DOFI_ERR(DAT_NOT_IMPLEMENTED, 0);
	return datagrams ? DAT_SUCCESS : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

DAT_RETURN dofi_ext_ud_send(DAT_HANDLE handle, va_list args)
{
	DAT_COUNT n = va_arg(args, DAT_COUNT);
	const DAT_LMR_TRIPLET *iov = va_arg(args, DAT_LMR_TRIPLET *);
	const DAT_IB_ADDR_HANDLE *to = va_arg(args, DAT_IB_ADDR_HANDLE *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);
	struct dofi_ep *ep = dofi_ep_live(handle);
	union dofi_addr addr;
	struct dofi_ia *ia = ep ? dofi_obj_ia(&ep->obj) : NULL;
	DAT_RETURN ret;

	/* Whether the EP is one of datagrams is checked there, where it is locked. */
	if (ep && dofi_ud_supported(ia) && ext_ud_target(ia, to, &addr))
		return dofi_ep_post_send_ud(ep, n, iov, &addr, to->qpn, cookie, flags);
	ret = ext_ud_ia(handle, &ia);
	return ret ? ret : DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
}

DAT_RETURN dofi_ext_ud_cm_free(DAT_HANDLE handle, va_list args)
{
	DAT_CONTEXT cm = va_arg(args, DAT_CONTEXT);
	struct dofi_ia *ia;
	DAT_RETURN ret = ext_ud_ia(handle, &ia);

	if (ret)
		return ret;
	/* An event without an address or private data has no context. */
	if (cm.as_ptr && !dofi_ah_free_cm(ia, cm.as_ptr))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ext_ud_ah_free(DAT_HANDLE handle, va_list args)
{
	const DAT_IB_ADDR_HANDLE *ah = va_arg(args, DAT_IB_ADDR_HANDLE *);
	struct dofi_ia *ia;
	DAT_RETURN ret = ext_ud_ia(handle, &ia);

	if (ret)
		return ret;
	if (!ah || !dofi_ah_free(ia, ah->ah))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}
