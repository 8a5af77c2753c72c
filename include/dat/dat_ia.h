/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface adapters: open, query, close; calls that accept any handle. */
#ifndef _DAT_IA_H_
#define _DAT_IA_H_

#include <dat/dat_types.h>
#include <dat/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dat_ia_attr DAT_IA_ATTR;			/* in udat_attr.h */
typedef struct dat_provider_attr DAT_PROVIDER_ATTR;	/* in udat_attr.h */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;			/* DAT_IA_FIELD_* */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;		/* DAT_PROVIDER_FIELD_* */

/*
 * dat_ia_openv - open an instance of an IA.
 *
 * Programs call the macro dat_ia_open(), which adds the API version and the thread-safety that
 * they are compiled for. One IA may be opened many times; every instance has its own handle and
 * objects. The registration must match the name and the three last arguments exactly.
 *
 *   name                IA name, shorter than 256 bytes; case counts
 *   async_event_qlen    least length of the asynchronous EVD in events, > 0; only used when one
 *                       is created
 *   async_event_handle  in: DAT_HANDLE_NULL to have an EVD created (enabled, waitable, without
 *                       CNO), to share it the one that an open of this provider returned before,
 *                       or DAT_EVD_ASYNC_EXISTS. Out: the EVD, or DAT_EVD_OUT_OF_SCOPE in answer
 *                       to the last
 *   ia_handle           out: the instance
 *   dapl_major          API version: major
 *   dapl_minor          API version: minor
 *   thread_safety       DAT_TRUE to call from several threads
 *
 * Events:  every asynchronous EVD of an IA receives all errors that no object of the program's
 *          owns.
 *
 * Returns:
 *   DAT_INVALID_PARAMETER/ARG1                  name NULL, too long, or not known to the loaded
 *                                               provider
 *   DAT_INVALID_PARAMETER/ARG2                  length not positive though an EVD must be made
 *   DAT_INVALID_PARAMETER/ARG3                  async_event_handle is NULL
 *   DAT_INVALID_HANDLE/IA                       ia_handle is NULL
 *   DAT_INVALID_HANDLE/EVD_ASYNC                the EVD given is not asynchronous or is another
 *                                               adapter's
 *   DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  nothing matches, or its provider did not load
 *   DAT_INSUFFICIENT_RESOURCES                  no memory or device
 *   DAT_INVALID_STATE                           the registry is shut down
 *
 * [DAT 1.2 / 2.0: dat_ia_openv]
 */
extern DAT_RETURN dat_ia_openv(
	IN const DAT_NAME_PTR name,
	IN DAT_COUNT async_event_qlen,
	INOUT DAT_EVD_HANDLE *async_event_handle,
	OUT DAT_IA_HANDLE *ia_handle,
	IN DAT_UINT32 dapl_major,
	IN DAT_UINT32 dapl_minor,
	IN DAT_BOOLEAN thread_safety);

/* The version that a program requests is fixed when it is compiled. */
#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

/*
 * dat_ia_query - read the attributes of an IA and its provider.
 *
 * Pointers in the attributes stay good while the IA is open.
 *
 *   ia_handle           the instance
 *   async_evd_handle    out, may be NULL: the asynchronous EVD of the instance
 *   ia_attr_mask        members of ia_attr wanted, DAT_IA_FIELD_*; 0 for none
 *   ia_attr             out: the attributes; may be NULL when its mask is 0
 *   provider_attr_mask  members of provider_attr wanted, DAT_PROVIDER_FIELD_*; 0 for none
 *   provider_attr       out: the attributes; may be NULL when its mask is 0
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA       bad handle
 *   DAT_INVALID_PARAMETER/ARG3  undefined bit in ia_attr_mask
 *   DAT_INVALID_PARAMETER/ARG4  ia_attr NULL and its mask not 0
 *   DAT_INVALID_PARAMETER/ARG5  undefined bit in provider_attr_mask
 *   DAT_INVALID_PARAMETER/ARG6  provider_attr NULL and its mask not 0
 *
 * [DAT 1.2 / 2.0: dat_ia_query]
 */
extern DAT_RETURN dat_ia_query(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_EVD_HANDLE *async_evd_handle,
	IN DAT_IA_ATTR_MASK ia_attr_mask,
	OUT DAT_IA_ATTR *ia_attr,
	IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
	OUT DAT_PROVIDER_ATTR *provider_attr);

/*
 * dat_ia_close - close an instance of an IA.
 *
 * The asynchronous EVD goes too if this instance created it.
 *
 *   ia_handle  the instance; dead afterwards
 *   ia_flags   DAT_CLOSE_ABRUPT_FLAG destroys all objects of the instance, releases CNO waiters
 *              with a NULL EVD and EVD waiters with DAT_ABORT. DAT_CLOSE_GRACEFUL_FLAG does
 *              something only if the program has freed all that it created
 *
 * Events:  none.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA        bad handle, also on a second close
 *   DAT_INVALID_PARAMETER/ARG2   unknown flag
 *   DAT_INVALID_STATE/IA_IN_USE  graceful, and objects are left
 *
 * [DAT 1.2 / 2.0: dat_ia_close]
 */
extern DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS ia_flags);

/*
 * dat_set_consumer_context - attach eight bytes of the program's own to any object.
 *
 * A later call replaces them; the object's end ends them. Nothing serialises callers.
 *
 *   dat_handle  object of any kind
 *   context     the bytes; not interpreted
 *
 * Returns:
 *   DAT_INVALID_HANDLE  bad handle (subtype HANDLE1 when NULL)
 *
 * [DAT 1.2 / 2.0: dat_set_consumer_context]
 */
extern DAT_RETURN dat_set_consumer_context(
	IN DAT_HANDLE dat_handle,
	IN DAT_CONTEXT context);

/*
 * dat_get_consumer_context - read what dat_set_consumer_context() attached.
 *
 *   dat_handle  object of any kind
 *   context     out: the bytes, zero if never set
 *
 * Returns:
 *   DAT_INVALID_HANDLE          bad handle (subtype HANDLE1 when NULL)
 *   DAT_INVALID_PARAMETER/ARG2  context is NULL
 *
 * [DAT 1.2 / 2.0: dat_get_consumer_context]
 */
extern DAT_RETURN dat_get_consumer_context(
	IN DAT_HANDLE dat_handle,
	OUT DAT_CONTEXT *context);

/*
 * dat_get_handle_type - get the kind of object of a handle.
 *
 *   dat_handle  object of any kind
 *   type        out: its kind
 *
 * Returns:
 *   DAT_INVALID_HANDLE          bad handle (subtype HANDLE1 when NULL)
 *   DAT_INVALID_PARAMETER/ARG2  type is NULL
 *
 * [DAT 1.2 / 2.0: dat_get_handle_type]
 */
extern DAT_RETURN dat_get_handle_type(
	IN DAT_HANDLE dat_handle,
	OUT DAT_HANDLE_TYPE *type);

/*
 * dat_registry_list_providers - list the IAs that the static registry knows.
 *
 * The order is that of dat.conf. A list that is too short is filled and no error.
 *
 *   max_to_return      slots in the list; 0 only counts, which is reported as an error
 *   entries_returned   out: slots filled, or with max_to_return 0 the number of entries
 *   dat_provider_list  array of pointers to structures of the caller's, to be filled
 *
 * Returns:
 *   DAT_INVALID_PARAMETER/ARG1  max_to_return is 0 (entries_returned is set)
 *   DAT_INVALID_PARAMETER/ARG2  entries_returned is NULL
 *   DAT_INVALID_PARAMETER/ARG3  the list, or a pointer in it that is needed, is NULL
 *
 * [DAT 1.2 / 2.0: dat_registry_list_providers]
 */
extern DAT_RETURN dat_registry_list_providers(
	IN DAT_COUNT max_to_return,
	OUT DAT_COUNT *entries_returned,
	OUT DAT_PROVIDER_INFO *(dat_provider_list[]));

/*
 * dat_strerror - translate a result to strings.
 *
 * The words are spelled like the enumerators, in static storage; an empty string stands for no
 * subtype. The class bits do not matter.
 *
 *   value          a result
 *   major_message  out: the type
 *   minor_message  out: the subtype
 *
 * Returns:
 *   DAT_INVALID_PARAMETER  the type or subtype has no name, or an output is NULL
 *
 * [DAT 1.2 / 2.0: dat_strerror]
 */
extern DAT_RETURN dat_strerror(
	IN DAT_RETURN value,
	OUT const char **major_message,
	OUT const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_IA_H_ */
