/* SPDX-License-Identifier: BSD-2-Clause */
/* A fake provider that logs the calls of libdat. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define EXPORT __attribute__((visibility("default")))

/* One per init; the table is the first member, so that it identifies the instance. */
struct instance {
	DAT_PROVIDER table;
	DAT_PROVIDER_INFO info;
	char params[256];
	struct instance *next;
};

struct fake_ia {
	const DAT_PROVIDER *table;
};

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);
EXPORT void dapl_ofi_set_report(void (*report)(const char *text));
#if DAT_API_MAJOR >= 2
EXPORT DAT_RETURN dapl_ofi_ha_related(const DAT_PROVIDER_INFO *one, const DAT_PROVIDER_INFO *two,
				      DAT_BOOLEAN *answer);
#endif

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct instance *instances;
static void (*report_reason)(const char *text);

__attribute__((format(printf, 1, 2))) static void log_call(const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&fake_state.lock);
	if (!fake_state.log_off && fake_state.lines < FAKE_LOG_LINES) {
		va_start(args, format);
		vsnprintf(fake_state.log[fake_state.lines++], FAKE_LOG_SIZE, format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&fake_state.lock);
}

static void count(int *counter)
{
	pthread_mutex_lock(&fake_state.lock);
	++*counter;
	pthread_mutex_unlock(&fake_state.lock);
}

static void hook(const char *where, const char *name, void *own)
{
	if (fake_state.hook)
		fake_state.hook(where, name, own);
}

static const char *param_value(const struct instance *in, const char *key)
{
	const char *at = strstr(in->params, key);

	return at ? at + strlen(key) : NULL;
}

static DAT_RETURN param_result(const struct instance *in, const char *key)
{
	const char *value = param_value(in, key);

	return value ? (DAT_RETURN)strtoul(value, NULL, 0) : DAT_SUCCESS;
}

static struct instance *instance_of(const void *own)
{
	return (struct instance *)(uintptr_t)((const struct fake_ia *)own)->table;
}

static void begin_record(int slot, void *handle)
{
	pthread_mutex_lock(&fake_state.lock);
	fake_state.slot = slot;
	fake_state.handle = handle;
	fake_state.num_args = 1;
}

static void record(int n, const void *value, size_t size)
{
	memcpy(fake_state.arg[n], value, size);
	fake_state.arg_size[n] = size;
	fake_state.num_args = n;
}

static DAT_RETURN end_record(int slot)
{
	pthread_mutex_unlock(&fake_state.lock);
	return FAKE_ANSWER(slot);
}

/* Every plain slot records its arguments and returns a distinct result. */
#define RECORD(n, type) record(n, &a##n, sizeof(a##n));
#define CALL(number, name, kind, n, ...) \
	static DAT_RETURN fake_##name(PARAMS_##n(__VA_ARGS__)) \
	{ \
		begin_record(number, a1); \
		REST_##n(RECORD, __VA_ARGS__) return end_record(number); \
	}
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
#endif
#undef CALL

static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			    DAT_IA_HANDLE *ia)
{
	struct instance *in;
	struct fake_ia *own;
	const char *reason;
	DAT_RETURN ret;
	char text[128], *at;

	pthread_mutex_lock(&list_lock);
	for (in = instances; in && strcmp(in->info.ia_name, name); in = in->next)
		;
	pthread_mutex_unlock(&list_lock);
	log_call("open %s qlen=%d evd=%s", name, qlen, async_evd ? "given" : "none");
	if (!in)
		return DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
	hook("open", name, NULL);
	reason = param_value(in, "reason=");
	if (reason && report_reason) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(reason, " "), reason);
		for (at = text; *at; at++)
			*at = *at == '_' ? ' ' : *at == '|' ? '\n' : *at;
		report_reason(text);
	}
	ret = param_value(in, "open=") ? param_result(in, "open=") : fake_state.open_answer;
	if (ret != DAT_SUCCESS)
		return ret;
	own = calloc(1, sizeof(*own));
	if (!own)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
	own->table = &in->table;
	*ia = own;
	count(&fake_state.opens);
	pthread_mutex_lock(&fake_state.lock);
	fake_state.last_own = own;
	pthread_mutex_unlock(&fake_state.lock);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			     DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			     DAT_PROVIDER_ATTR *attr)
{
	struct instance *in = instance_of(ia);
	unsigned int major = in->info.dapl_version_major, minor = in->info.dapl_version_minor;
	const char *value;

	log_call("query ia=%llx provider=%llx evd=%s", (unsigned long long)ia_mask,
		 (unsigned long long)provider_mask, async_evd ? "given" : "none");
	hook("query", in->info.ia_name, ia);
#if DAT_API_MAJOR >= 2
	if (ia_mask && param_value(in, "ext"))
		ia_attr->extension_supported = DAT_EXTENSION_IB;
#else
	(void)ia_attr;
#endif
	if (!provider_mask)
		return DAT_SUCCESS;
	value = param_value(in, "ver=");
	if (value)
		sscanf(value, "%u.%u", &major, &minor);
	attr->dapl_version_major = major;
	attr->dapl_version_minor = minor;
	value = param_value(in, "ts=");
	attr->is_thread_safe = !value          ? in->info.is_thread_safe
			       : *value == '1' ? DAT_TRUE
					       : DAT_FALSE;
	return param_result(in, "query=");
}

static DAT_RETURN fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	struct instance *in = instance_of(ia);
	DAT_RETURN ret = param_result(in, "close=");

	log_call("close flags=%d", (int)flags);
	hook("close", in->info.ia_name, ia);
	if (ret != DAT_SUCCESS && flags != DAT_CLOSE_ABRUPT_FLAG)
		return ret;
	count(&fake_state.closes);
	free(ia);
	return DAT_SUCCESS;
}

#if DAT_API_MAJOR >= 2
static DAT_RETURN fake_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *related)
{
	struct instance *in = instance_of(ia);
	const char *value = param_value(in, "related=");

	log_call("related %s to %s", in->info.ia_name, name);
	hook("related", name, ia);
	if (!value)
		return DAT_MODEL_NOT_SUPPORTED;
	*related = *value == '1' ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

/* The open operation takes a name and returns an object through its second argument. */
static DAT_RETURN fake_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct instance *in;
	struct fake_ia *own;
	int value;

	if (op & DAT_OPEN_EXTENSION_BASE) {
		log_call("extension open %s op=%x", (const char *)handle, (unsigned int)op);
		for (in = instances; in && strcmp(in->info.ia_name, handle); in = in->next)
			;
		if (!in || param_result(in, "open="))
			return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
		own = calloc(1, sizeof(*own));
		if (!own)
			return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
		own->table = &in->table;
		*va_arg(args, void **) = own;
		return DAT_SUCCESS;
	}
	if (op & DAT_CLOSE_EXTENSION_BASE) {
		log_call("extension close op=%x arg=%d", (unsigned int)op, va_arg(args, int));
		free(handle);
		return DAT_SUCCESS;
	}
	begin_record(80, handle);
	record(2, &op, sizeof(op));
	value = va_arg(args, int);
	record(3, &value, sizeof(value));
	return end_record(80);
}
#endif

static void fill_table(DAT_PROVIDER *table)
{
	if (!strstr(((struct instance *)table)->params, "holes")) {
#define CALL(number, name, kind, n, ...) table->name##_func = fake_##name;
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
		table->ia_ha_related_func = fake_related;
		table->handle_extendedop_func = fake_extension;
#endif
#undef CALL
	}
	table->ia_open_func = fake_open;
	table->ia_query_func = fake_query;
	table->ia_close_func = fake_close;
}

static struct instance *instance_remove(const DAT_PROVIDER_INFO *info)
{
	struct instance **at, *in;

	pthread_mutex_lock(&list_lock);
	for (at = &instances; (in = *at); at = &in->next)
		if (!memcmp(&in->info, info, sizeof(*info)))
			break;
	if (in)
		*at = in->next;
	pthread_mutex_unlock(&list_lock);
	return in;
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct instance *in;

	log_call("init %s %u.%u ts=%d [%s]", info->ia_name, info->dapl_version_major,
		 info->dapl_version_minor, (int)info->is_thread_safe, params);
	count(&fake_state.inits);
	if (strstr(params, "noreg"))
		return;
	in = calloc(1, sizeof(*in));
	if (!in)
		return;
	in->info = *info;
	snprintf(in->params, sizeof(in->params), "%s", params);
	in->table.device_name = in->info.ia_name;
	fill_table(&in->table);
	pthread_mutex_lock(&list_lock);
	in->next = instances;
	instances = in;
	pthread_mutex_unlock(&list_lock);
	hook("init", info->ia_name, NULL);
	if (dat_registry_add_provider(&in->table, info) != DAT_SUCCESS) {
		log_call("add failed");
		free(instance_remove(info));
	}
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct instance *in;

	log_call("fini %s", info->ia_name);
	count(&fake_state.finis);
	hook("fini", info->ia_name, NULL);
	in = instance_remove(info);
	if (!in)
		return;
	if (!param_value(in, "keep") &&
	    dat_registry_remove_provider(&in->table, info) != DAT_SUCCESS)
		log_call("remove failed");
	free(in);
}

void dapl_ofi_set_report(void (*report)(const char *text))
{
	report_reason = report;
}

#if DAT_API_MAJOR >= 2
static struct instance *instance_find(const DAT_PROVIDER_INFO *info)
{
	struct instance *in;

	pthread_mutex_lock(&list_lock);
	for (in = instances; in && memcmp(&in->info, info, sizeof(*info)); in = in->next)
		;
	pthread_mutex_unlock(&list_lock);
	return in;
}

DAT_RETURN dapl_ofi_ha_related(const DAT_PROVIDER_INFO *one, const DAT_PROVIDER_INFO *two,
			       DAT_BOOLEAN *answer)
{
	struct instance *first = instance_find(one), *second = instance_find(two);
	const char *value = first && second ? param_value(first, "closed=") : NULL;

	log_call("compare %s to %s", one->ia_name, two->ia_name);
	if (report_reason)
		report_reason("compared");
	if (!value)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
	*answer = *value == '1' ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}
#endif
