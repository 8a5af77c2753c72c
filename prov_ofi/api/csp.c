/* SPDX-License-Identifier: BSD-2-Clause */
/* Common service points and connecting to them: uDAPL 2.0 only.
 *
 * A CSP is a public service point whose qualifier is the port of an address. The communicator
 * describes the kind of address and of connection as socket(2) does.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/dat_error.h"
#include "cm/cm.h"
#include "fabric/netif.h"
#include "object/version.h"

/* A reliable connection between addresses of the IA's kind. */
static bool csp_comm_ok(const struct dofi_ia *ia, const DAT_COMM *comm)
{
	return (comm->domain == AF_INET || comm->domain == AF_INET6) &&
	       dofi_netif_has_family(&ia->fab, comm->domain) && comm->type == SOCK_STREAM &&
	       (comm->protocol == 0 || comm->protocol == IPPROTO_TCP);
}

static DAT_RETURN csp_address(const struct dofi_ia *ia, const DAT_COMM *comm,
			      const struct sockaddr *sa, union dofi_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (sa->sa_family == AF_UNSPEC)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (sa->sa_family != comm->domain)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	memcpy(addr, sa, dofi_addr_len(sa));
	if (!dofi_netif_is_own(&ia->fab, addr))
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_csp_create(DAT_IA_HANDLE handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR sa,
			   DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(handle);
	union dofi_addr addr;
	struct dofi_evd *evd;
	struct dofi_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!comm)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!sa)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	evd = dofi_sp_cr_evd(ia, evd_handle);
	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!csp_comm_ok(ia, comm))
		return DOFI_ERR(DAT_COMM_NOT_SUPPORTED, 0);
	ret = csp_address(ia, comm, sa, &addr);
	if (ret)
		return ret;
	ret = dofi_sp_create_csp(ia, &addr,
				 &(struct dofi_comm){ comm->domain, comm->type, comm->protocol },
				 evd, &sp);
	if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
		return DOFI_ERR(DAT_PORT_IN_USE, 0);
	if (!ret)
		*out = sp;
	return ret;
}

DAT_RETURN dofi_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	struct dofi_sp *sp = (struct dofi_sp *)dofi_obj_live(handle, DAT_HANDLE_TYPE_CSP);
	struct dofi_ia *ia;

	_Static_assert(sizeof(DAT_COMM) == sizeof(sp->comm), "struct dofi_comm is a DAT_COMM");
	if (!sp)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	if (mask & ~DAT_CSP_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_sp_lock(sp);
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	param->ia_handle = dofi_api_ia_handle(ia);
	param->comm = (DAT_COMM *)&sp->comm;
	param->address_ptr = &sp->addr.sa;
	param->evd_handle = sp->evd;
	pthread_mutex_unlock(&ia->cm_lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_csp_free(DAT_CSP_HANDLE csp)
{
	return dofi_sp_free(csp, DAT_HANDLE_TYPE_CSP, DAT_INVALID_HANDLE_CSP);
}

DAT_RETURN dofi_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr,
				  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID priv)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_connect_args args = {
		.timeout = timeout, .size = size, .priv = priv, .timeout_arg = DAT_INVALID_ARG3
	};
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!addr)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	args.qual = dofi_addr_port(addr);
	ret = dofi_cm_check_connect(dofi_obj_ia(&ep->obj), &args);
	if (ret)
		return ret;
	/* The address of a CSP always has a port. */
	if ((addr->sa_family == AF_INET || addr->sa_family == AF_INET6) && !args.qual)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	return dofi_cm_connect(ep, addr, &args);
}
