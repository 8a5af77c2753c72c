/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the parts that only uDAPL 1.2 has. */
#include "base/dat_error.h"
#include "cm/cm.h"
#include "data/dto.h"
#include "object/agent.h"
#include "object/cno.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/version.h"

DAT_RETURN dofi_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			   DAT_LMR_HANDLE *handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size, DAT_VADDR *address)
{
	struct dofi_lmr_request req = {
		.mem_type = type, .desc = desc, .length = length, .pz = pz, .priv = priv
	};
	struct dofi_lmr *lmr;
	DAT_RETURN ret;

	if (!handle)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ret = dofi_lmr_make(ia, &req, &lmr);
	if (!ret)
		dofi_lmr_outputs(lmr, handle, lmr_context, rmr_context, size, address);
	return ret;
}

DAT_RETURN dofi_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dofi_cno *cno = dofi_cno_live(handle);
	struct dofi_cno_param now;

	if (!cno)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (mask & ~DAT_CNO_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!dofi_cno_read(cno, &now))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	param->ia_handle = now.ia;
	param->agent = now.agent;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_reject(DAT_CR_HANDLE cr)
{
	return dofi_cr_refuse(cr, 0, NULL);
}

DAT_RETURN dofi_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct dofi_bind bind = { .rmr = rmr,
				  .triplet = triplet,
				  .priv = priv,
				  .ep = ep,
				  .cookie = cookie,
				  .flags = flags };

	return dofi_rmr_do_bind(&bind, context);
}

const DAT_PROVIDER dofi_api_vtable = {
	.ia_open_func = dofi_ia_open,
	.ia_close_func = dofi_ia_close,
#define CALL(n, name, kind, ...) .name##_func = dofi_##name,
#include "../src/calls.def"
};
