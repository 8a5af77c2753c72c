/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes extension calls to the provider, with and without an open IA. */
#include "config.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "cancel.h"
#include "diag.h"
#include "extension.h"
#include "iatable.h"
#include "use.h"

static atomic_bool enabled;

void dati_extension_detect(void *own)
{
	DAT_PROVIDER *provider = DAT_HANDLE_TO_PROVIDER(own);
	DAT_IA_ATTR attr;

	if (!provider->ia_query_func)
		return;
	memset(&attr, 0, sizeof(attr));
	provider->ia_query_func(own, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL);
	if (attr.extension_supported)
		atomic_store(&enabled, true);
}

static DAT_RETURN extension_call(const DAT_PROVIDER *provider, DAT_HANDLE handle,
				 DAT_EXTENDED_OP op, va_list args)
{
	if (!provider->handle_extendedop_func)
		return DATI_NO_CALL;
	return provider->handle_extendedop_func(handle, op, args);
}

/*
 * The call names no thread-safety: try the entry that dat_ia_open would try first, then the other.
 */
static DAT_RETURN extension_hold_provider(const char *name, struct dati_use *use)
{
	static const DAT_BOOLEAN order[] = { DAT_THREADSAFE, !DAT_THREADSAFE };
	DAT_PROVIDER_INFO key = { .ia_name = "" };
	DAT_RETURN ret = DATI_NOT_REGISTERED;
	size_t i;

	for (i = 0; i < 2 && ret != DAT_SUCCESS; i++) {
		dati_key_set(&key, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, order[i]);
		ret = dati_use_begin(&key, DATI_ANY_CANDIDATE, NULL, use);
	}
	return ret;
}

/* The provider stays loaded until the matching close. */
static DAT_RETURN extension_open(DAT_EXTENDED_OP op, va_list args)
{
	char *name = va_arg(args, char *);
	struct dati_use use;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	if (!name)
		return DATI_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_ARG3);
	if (strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DATI_BAD_ARG(3);
	ret = dati_start();
	if (ret != DAT_SUCCESS)
		return ret;
	ret = extension_hold_provider(name, &use);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = extension_call(use.reg->provider, name, op, args);
	if (ret != DAT_SUCCESS) {
		dati_use_end(&use);
		return ret;
	}
	pthread_mutex_lock(&dati_lock);
	use.reg->extensions++;
	pthread_mutex_unlock(&dati_lock);
	/* Or else a program that opens no IA could not make the call that closes. */
	atomic_store(&enabled, true);
	return ret;
}

/* The handle is the provider object that the open operation returned. */
static DAT_RETURN extension_close(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	const DAT_PROVIDER *provider = DAT_HANDLE_TO_PROVIDER(handle);
	DAT_PROVIDER_INFO key;
	struct dati_dynamic *reg;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	ret = extension_call(provider, handle, op, args);
	if (ret != DAT_SUCCESS)
		return ret;
	pthread_mutex_lock(&dati_lock);
	reg = dati_dynamic_extension(provider);
	if (reg) {
		reg->extensions--;
		reg->uses--;
		key = reg->info;
	}
	pthread_mutex_unlock(&dati_lock);
	if (!reg)
		return DATI_NOT_REGISTERED;
	dati_unload_key(&key);
	return ret;
}

static DAT_RETURN extension_call_handle(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	void *own = dati_ia_own(handle);

	if (!own)
		own = handle;
	return extension_call(DATI_PROVIDER_OF(own), own, op, args);
}

DAT_RETURN DAT_API dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	DAT_RETURN ret;
	va_list args;

	if (handle && !atomic_load_explicit(&enabled, memory_order_relaxed))
		return DATI_NO_CALL;
	va_start(args, op);
	if (op & DAT_OPEN_EXTENSION_BASE)
		ret = extension_open(op, args);
	else if ((uintptr_t)handle < 4096 &&
		 (!dati_ia_own(handle) || op & DAT_CLOSE_EXTENSION_BASE))
		ret = DATI_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	else if (op & DAT_CLOSE_EXTENSION_BASE)
		ret = extension_close(handle, op, args);
	else
		ret = extension_call_handle(handle, op, args);
	va_end(args);
	return ret;
}
