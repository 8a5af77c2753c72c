/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces the slots that only uDAPL 2.0 has and that are not in the list of calls. */
#include "trace/trace_calls.h"

static DAT_RETURN traced_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name,
				       DAT_BOOLEAN *answer)
{
	DOFI_TRACE_OPEN(ia_ha_related, 3, V(ia), V(name), V(answer));
	DAT_RETURN ret = dofi_trace_next->ia_ha_related_func(ia, name, answer);

	dofi_trace_end(&trace, ret);
	return ret;
}

#define EXTENDED(handle, op, args) dofi_trace_next->handle_extendedop_func(handle, op, args)

/* `args` is passed to the call; `look` is a copy of it for the trace. */
static DAT_RETURN traced_write_immed(DAT_HANDLE ep, DAT_EXTENDED_OP op, va_list args, va_list look)
{
	DAT_COUNT n = va_arg(look, DAT_COUNT);
	const DAT_LMR_TRIPLET *iov = va_arg(look, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(look, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *remote = va_arg(look, DAT_RMR_TRIPLET *);
	DAT_UINT32 immed = va_arg(look, DAT_UINT32);
	DAT_COMPLETION_FLAGS flags = va_arg(look, DAT_COMPLETION_FLAGS);
	DAT_RETURN ret;

	DOFI_TRACE_OPEN(ib_post_rdma_write_immed, 7, V(ep), V(n), V(iov), V(cookie), V(remote),
			V(immed), V(flags));
	ret = EXTENDED(ep, op, args);
	dofi_trace_end(&trace, ret);
	return ret;
}

static DAT_RETURN traced_add(DAT_HANDLE ep, DAT_EXTENDED_OP op, va_list args, va_list look)
{
	DAT_UINT64 add = va_arg(look, DAT_UINT64);
	const DAT_LMR_TRIPLET *iov = va_arg(look, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(look, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *remote = va_arg(look, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(look, DAT_COMPLETION_FLAGS);
	DAT_RETURN ret;

	DOFI_TRACE_OPEN(ib_post_fetch_and_add, 6, V(ep), V(add), V(iov), V(cookie), V(remote),
			V(flags));
	ret = EXTENDED(ep, op, args);
	dofi_trace_end(&trace, ret);
	return ret;
}

static DAT_RETURN traced_swap(DAT_HANDLE ep, DAT_EXTENDED_OP op, va_list args, va_list look)
{
	DAT_UINT64 compare = va_arg(look, DAT_UINT64);
	DAT_UINT64 swap = va_arg(look, DAT_UINT64);
	const DAT_LMR_TRIPLET *iov = va_arg(look, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(look, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *remote = va_arg(look, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(look, DAT_COMPLETION_FLAGS);
	DAT_RETURN ret;

	DOFI_TRACE_OPEN(ib_post_cmp_and_swap, 7, V(ep), V(compare), V(swap), V(iov), V(cookie),
			V(remote), V(flags));
	ret = EXTENDED(ep, op, args);
	dofi_trace_end(&trace, ret);
	return ret;
}

/* An operation that is not implemented: its other arguments are unknown. */
static DAT_RETURN traced_other(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DOFI_TRACE_OPEN(extension_op, 2, V(handle), V(op));
	DAT_RETURN ret = EXTENDED(handle, op, args);

	dofi_trace_end(&trace, ret);
	return ret;
}

static DAT_RETURN traced_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DAT_RETURN ret;
	va_list look;

	va_copy(look, args);
	switch ((int)op) {
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		ret = traced_write_immed(handle, op, args, look);
		break;
	case DAT_IB_FETCH_AND_ADD_OP:
		ret = traced_add(handle, op, args, look);
		break;
	case DAT_IB_CMP_AND_SWAP_OP:
		ret = traced_swap(handle, op, args, look);
		break;
	default:
		ret = traced_other(handle, op, args);
		break;
	}
	va_end(look);
	return ret;
}

void dofi_trace_apply_version(DAT_PROVIDER *table)
{
	if (table->ia_ha_related_func)
		table->ia_ha_related_func = traced_ia_ha_related;
	if (table->handle_extendedop_func)
		table->handle_extendedop_func = traced_handle_extendedop;
}
