/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the DAT version of the suite and hides the differences between its calls. */
#ifndef TEST_API_H
#define TEST_API_H

#define DAT_THREADSAFE DAT_TRUE

#if DAT_TEST_API == 12
#include <dat/udat.h>
#include <dat/dat_registry.h>
#elif DAT_TEST_API == 20
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#else
#error "DAT_TEST_API must be 12 or 20"
#endif

#include "../lib/harness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The operation of a data transfer completion, with the values of DAT_DTOS in 2.0. */
enum op { OP_SEND = 0, OP_WRITE = 1, OP_READ = 2, OP_RECV = 3 };

#if DAT_TEST_API == 12

typedef DAT_VLEN seg_len_t;

static inline DAT_RETURN api_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
					DAT_REGION_DESCRIPTION region, DAT_VLEN length,
					DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
					DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_ctx,
					DAT_RMR_CONTEXT *rmr_ctx, DAT_VLEN *size, DAT_VADDR *addr)
{
	return dat_lmr_create(ia, type, region, length, pz, priv, lmr, lmr_ctx, rmr_ctx, size,
			      addr);
}

static inline DAT_RETURN api_cr_reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr);
}

static inline void api_rmr_addr(DAT_RMR_TRIPLET *t, DAT_VADDR addr)
{
	t->target_address = addr;
}

/* In 1.2 a completion does not name its operation. */
static inline bool api_dto_is(const DAT_DTO_COMPLETION_EVENT_DATA *d, enum op op)
{
	(void)d;
	(void)op;
	return true;
}

#define API_LMR_PTR_ARG DAT_INVALID_ARG7
#define API_SOVERSION "1"

#else

typedef DAT_SEG_LENGTH seg_len_t;

static inline DAT_RETURN api_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
					DAT_REGION_DESCRIPTION region, DAT_VLEN length,
					DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
					DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_ctx,
					DAT_RMR_CONTEXT *rmr_ctx, DAT_VLEN *size, DAT_VADDR *addr)
{
	return dat_lmr_create(ia, type, region, length, pz, priv, DAT_VA_TYPE_VA, lmr, lmr_ctx,
			      rmr_ctx, size, addr);
}

static inline DAT_RETURN api_cr_reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}

static inline void api_rmr_addr(DAT_RMR_TRIPLET *t, DAT_VADDR addr)
{
	t->virtual_address = addr;
}

static inline bool api_dto_is(const DAT_DTO_COMPLETION_EVENT_DATA *d, enum op op)
{
	return (int)d->operation == (int)op && d->rmr_context == 0;
}

#define API_LMR_PTR_ARG DAT_INVALID_ARG8
#define API_SOVERSION "2"

#endif

/* ---- returns ---- */

#define API_ERR(type_, sub_) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_RETURN)(type_) | (DAT_RETURN)(sub_)))

void check_ret(const char *file, int line, const char *call, DAT_RETURN got, DAT_RETURN want);

#define OK(call_) check_ret(__FILE__, __LINE__, #call_, (call_), DAT_SUCCESS)
/* Checks class, type and subtype. */
#define ASSERT_RET(call_, type_, sub_) \
	check_ret(__FILE__, __LINE__, #call_, (call_), API_ERR(type_, sub_))
#define BAD_HANDLE(call_, kind_) ASSERT_RET(call_, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind_)
#define BAD_ARG(call_, n_) ASSERT_RET(call_, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n_)
#define BAD_STATE(call_, sub_) ASSERT_RET(call_, DAT_INVALID_STATE, DAT_INVALID_STATE_##sub_)
#define UNSUPPORTED(call_) ASSERT_RET(call_, DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

/* The name of the IA under test; the same over IPv6; the same for one thread at a time. */
const char *ia_name(void);
const char *ia6_name(void);
/* Skips the case if that has no IPv6 address of its own. */
void need_ipv6(void);
bool fabric_is(const char *name);
/* One of the traits of test/fabrics/fabrics.def. */
bool fabric_has(const char *trait);
const char *fabric_params(void);
/*
 * Sets a registry file for this case; call it before the first DAT call. conf_text takes the lines
 * unchanged, conf_for_domain sets another interface for all names, or one for each.
 */
void conf_text(const char *text);
void conf_for_domain(const char *domain);
void conf_for_domains(const char *domain, const char *domain6);
/* A line for the provider under test, or for another library. */
void conf_line(char *to, size_t size, const char *name, const char *library, const char *params);
const char *provider_path(void);

#endif
