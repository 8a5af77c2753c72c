/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the settings from the environment. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "base/edit_distance.h"
#include "base/param.h"

#define PREFIX "DAPL_OFI_"
/* Settings of tests, documented where they are read. */
#define TEST_PREFIX PREFIX "TEST_"
/* Names at this edit distance or more are not suggested. */
#define MAX_DISTANCE 4

struct number {
	const char *env;
	long lo, hi, def;
	_Atomic long value;
};

static struct number numbers[DOFI_NUM_COUNT] = {
#define X(name, lo, hi, def, text) { PREFIX #name, lo, hi, def, def },
	DOFI_NUMBERS(X)
#undef X
};

static const char *const string_env[DOFI_STR_COUNT] = {
#define X(name, text) PREFIX #name,
	DOFI_STRINGS(X)
#undef X
};

static const char *const former_env[DOFI_NUM_COUNT] = {
#define X(name, former) [DOFI_NUM_##name] = PREFIX #former,
	DOFI_FORMER_NAMES(X)
#undef X
};

static const char *param_env(const char *name)
{
	const char *text = name ? dofi_env(name) : NULL;

	return text && *text ? text : NULL;
}

/* Value of the variable, or of its former name; *name: the one that is used. */
static const char *param_number_text(enum dofi_number which, const char **name)
{
	const char *text = param_env(numbers[which].env);
	const char *former = param_env(former_env[which]);

	if (text && former)
		dofi_log(DOFI_LOG_WARN, "%s=%s is ignored: %s=%s, its present name, is set",
			 former_env[which], former, numbers[which].env, text);
	*name = text || !former ? numbers[which].env : former_env[which];
	return text ? text : former;
}

static void param_load(enum dofi_number which)
{
	struct number *n = &numbers[which];
	const char *name, *text = param_number_text(which, &name);
	char *end;
	long v;

	if (!text) {
		n->value = n->def;
		return;
	}
	errno = 0;
	v = strtol(text, &end, 0);
	if (errno || *end || v < n->lo || v > n->hi) {
		dofi_log(DOFI_LOG_ERROR, "%s=%s is not a number from %ld to %ld; %ld is used", name,
			 text, n->lo, n->hi, n->def);
		v = n->def;
	}
	n->value = v;
}

static long param_level_of_mask(unsigned long mask)
{
	if (mask > 0xff)
		return DOFI_LOG_DEBUG;
	if (mask > 0x03)
		return DOFI_LOG_INFO;
	if (mask > 0x01)
		return DOFI_LOG_WARN;
	return mask ? DOFI_LOG_ERROR : 0;
}

/* Debug masks that scripts written for the original DAPL set. */
static void param_load_legacy_level(void)
{
	static const char *const names[] = DOFI_LEGACY_MASKS;

	if (dofi_env(numbers[DOFI_NUM_LOG].env))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text = dofi_env(names[i]);
		unsigned long mask;
		char *end;

		if (!text || !*text)
			continue;
		mask = strtoul(text, &end, 0);
		if (*end)
			continue;
		numbers[DOFI_NUM_LOG].value = param_level_of_mask(mask);
		return;
	}
}

static const char *param_env_name(size_t i)
{
	return i < DOFI_NUM_COUNT ? numbers[i].env : string_env[i - DOFI_NUM_COUNT];
}

/* Edit distance to the name or the former name of setting i, whichever is smaller. */
static unsigned int param_distance(const char *unknown, size_t i)
{
	const char *former = i < DOFI_NUM_COUNT ? former_env[i] : NULL;
	unsigned int distance = dofi_edit_distance(unknown, param_env_name(i));
	unsigned int former_distance = former ? dofi_edit_distance(unknown, former) : distance;

	return former_distance < distance ? former_distance : distance;
}

static const char *param_nearest(const char *name, size_t len)
{
	unsigned int best = MAX_DISTANCE, distance;
	const char *nearest = NULL;
	char unknown[64];

	snprintf(unknown, sizeof(unknown), "%.*s", (int)len, name);
	for (size_t i = 0; i < DOFI_NUM_COUNT + DOFI_STR_COUNT; i++) {
		distance = param_distance(unknown, i);
		if (distance < best) {
			best = distance;
			nearest = param_env_name(i);
		}
	}
	return nearest;
}

static bool param_is(const char *env, const char *name, size_t len)
{
	return env && strlen(env) == len && !strncmp(env, name, len);
}

static bool param_is_known(const char *name, size_t len)
{
	for (size_t i = 0; i < DOFI_NUM_COUNT + DOFI_STR_COUNT; i++)
		if (param_is(param_env_name(i), name, len) ||
		    (i < DOFI_NUM_COUNT && param_is(former_env[i], name, len)))
			return true;
	return false;
}

void dofi_param_unknown(void (*fn)(const char *name, const char *nearest))
{
	char name[64];

	for (char **at = dofi_env_all(); at && *at; at++) {
		size_t len = strcspn(*at, "=");

		if (strncmp(*at, PREFIX, strlen(PREFIX)) || param_is_known(*at, len) ||
		    !strncmp(*at, TEST_PREFIX, strlen(TEST_PREFIX)))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, *at);
		fn(name, param_nearest(*at, len));
	}
}

static void param_warn_unknown(const char *name, const char *nearest)
{
	dofi_log(nearest ? DOFI_LOG_ERROR : DOFI_LOG_WARN, "unknown setting %s%s%s%s", name,
		 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

void dofi_param_warn_unknown(void)
{
	dofi_param_unknown(param_warn_unknown);
}

static void param_warn_once(void)
{
	for (int i = 0; i < DOFI_STR_COUNT; i++)
		if (dofi_param_ignored((enum dofi_string)i))
			dofi_log(DOFI_LOG_WARN,
				 "%s is ignored: the program has more rights than its caller",
				 string_env[i]);
}

void dofi_param_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	dofi_log_file(dofi_param_path(DOFI_STR_LOG_FILE));
	/* The level first: it decides whether errors in the others are logged. */
	param_load(DOFI_NUM_LOG);
	param_load_legacy_level();
	dofi_log_set_level(numbers[DOFI_NUM_LOG].value);
	for (int i = 0; i < DOFI_NUM_COUNT; i++)
		if (i != DOFI_NUM_LOG)
			param_load((enum dofi_number)i);
	pthread_once(&once, param_warn_once);
}

long dofi_param(enum dofi_number which)
{
	return numbers[which].value;
}

const char *dofi_param_former(enum dofi_number which)
{
	return former_env[which];
}

const char *dofi_param_str(enum dofi_string which)
{
	const char *text = dofi_env_secure(string_env[which]);

	return text && *text ? text : NULL;
}

const char *dofi_param_path(enum dofi_string which)
{
	const char *text = dofi_param_str(which);

	return text && strcmp(text, "0") ? text : NULL;
}

bool dofi_param_ignored(enum dofi_string which)
{
	const char *text = dofi_env(string_env[which]);

	return dofi_env_privileged() && text && *text;
}
