/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the parts that only uDAPL 2.0 has. */
#include <stdarg.h>
#include <string.h>

#include "api/ext.h"
#include "base/dat_error.h"
#include "cm/cm.h"
#include "coll/coll.h"
#include "data/dto.h"
#include "object/agent.h"
#include "object/cno.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/version.h"

DAT_RETURN dofi_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			   DAT_VA_TYPE va_type, DAT_LMR_HANDLE *handle,
			   DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *size, DAT_VADDR *address)
{
	struct dofi_lmr_request req = { .mem_type = type,
					.desc = desc,
					.length = length,
					.pz = pz,
					.priv = priv,
					.zero_based = va_type == DAT_VA_TYPE_ZB };
	struct dofi_lmr *lmr;
	DAT_RETURN ret;

	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!handle)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	ret = dofi_lmr_make(ia, &req, &lmr);
	if (!ret)
		dofi_lmr_outputs(lmr, handle, lmr_context, rmr_context, size, address);
	return ret;
}

/* The mask's bits overlap (DAT_CNO_FIELD_PROXY contains the others), so any of them requests
 * all. */
DAT_RETURN dofi_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dofi_cno *cno = dofi_cno_live(handle);
	struct dofi_cno_param now;

	if (!cno)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (mask & ~(DAT_CNO_FIELD_PROXY | DAT_CNO_FIELD_ALL))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!dofi_cno_read(cno, &now))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	memset(param, 0, sizeof(*param));
	param->ia_handle = now.ia;
	if (now.fd >= 0) {
		param->proxy_type = DAT_PROXY_TYPE_FD;
		param->proxy.fd = now.fd;
	} else if (now.agent.proxy_agent_func) {
		param->proxy_type = DAT_PROXY_TYPE_AGENT;
		param->proxy.agent = now.agent;
	} else {
		param->proxy_type = DAT_PROXY_TYPE_NONE;
	}
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID priv)
{
	return dofi_cr_refuse(cr, size, priv);
}

DAT_RETURN dofi_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
			 DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			 DAT_RMR_CONTEXT *context)
{
	struct dofi_bind bind = { .rmr = rmr,
				  .lmr_given = true,
				  .lmr = lmr,
				  .triplet = triplet,
				  .priv = priv,
				  .zero_based = va_type == DAT_VA_TYPE_ZB,
				  .unknown_va_type = va_type != DAT_VA_TYPE_VA &&
						     va_type != DAT_VA_TYPE_ZB,
				  .ep = ep,
				  .cookie = cookie,
				  .flags = flags };

	return dofi_rmr_do_bind(&bind, context);
}

/* `args` are the arguments of the macros in dat_ib_extensions.h. */
static DAT_RETURN write_immed(DAT_EP_HANDLE ep, va_list args)
{
	DAT_COUNT n = va_arg(args, DAT_COUNT);
	const DAT_LMR_TRIPLET *iov = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_UINT32 immed = va_arg(args, DAT_UINT32);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dofi_ep_post_write_immed(ep, n, iov, cookie, remote, immed, flags);
}

static DAT_RETURN atomic_op(DAT_EP_HANDLE ep, bool with_swap, va_list args)
{
	DAT_UINT64 operand = va_arg(args, DAT_UINT64);
	DAT_UINT64 swap = with_swap ? va_arg(args, DAT_UINT64) : 0;
	const DAT_LMR_TRIPLET *iov = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dofi_ep_post_atomic(ep, operand, with_swap ? &swap : NULL, iov, cookie, remote,
				   flags);
}

static DAT_RETURN query_counters(DAT_HANDLE handle, va_list args)
{
	int which = va_arg(args, int);
	DAT_UINT64 *out = va_arg(args, DAT_UINT64 *);

	return dofi_query_counters(handle, which, out, va_arg(args, int) != 0);
}

static DAT_RETURN print_counters(DAT_HANDLE handle, va_list args)
{
	int which = va_arg(args, int);

	return dofi_print_counters(handle, which, va_arg(args, int) != 0);
}

static DAT_RETURN extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	switch ((int)op) {
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return write_immed(handle, args);
	case DAT_IB_FETCH_AND_ADD_OP:
		return atomic_op(handle, false, args);
	case DAT_IB_CMP_AND_SWAP_OP:
		return atomic_op(handle, true, args);
	case DAT_IB_QUERY_COUNTERS_OP:
		return query_counters(handle, args);
	case DAT_IB_PRINT_COUNTERS_OP:
		return print_counters(handle, args);
	case DAT_IB_START_COUNTERS_OP:
	case DAT_IB_STOP_COUNTERS_OP:
		return dofi_run_counters(handle, (int)va_arg(args, DAT_IA_COUNTER_TYPE),
					 (int)op == DAT_IB_START_COUNTERS_OP);
	case DAT_IB_UD_SEND_OP:
		return dofi_ext_ud_send(handle, args);
	case DAT_IB_UD_CM_FREE_OP:
		return dofi_ext_ud_cm_free(handle, args);
	case DAT_IB_UD_AH_FREE_OP:
		return dofi_ext_ud_ah_free(handle, args);
	case DAT_IB_OPEN_QUERY_OP:
		return dofi_ext_open_query(handle, args);
	case DAT_IB_CLOSE_QUERY_OP:
		return dofi_ext_close_query(handle);
	default:
		if (dofi_coll_has(op))
			return dofi_coll_call(handle, op, args);
		return DOFI_ERR(DAT_NOT_IMPLEMENTED, 0);
	}
}

const DAT_PROVIDER dofi_api_vtable = {
	.ia_open_func = dofi_ia_open,
	.ia_close_func = dofi_ia_close,
	.ia_ha_related_func = dofi_ia_ha_related,
	.handle_extendedop_func = extendedop,
#define CALL(n, name, kind, ...) .name##_func = dofi_##name,
#include "../src/calls.def"
};
