/* SPDX-License-Identifier: BSD-2-Clause */
/* What are the settings of this process? */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/param.h"

struct number {
	const char *env;
	long lo, hi, def;
	_Atomic long value;
};

static struct number numbers[DOFI_NUM_COUNT] = {
#define X(name, lo, hi, def, text) { "DAPL_OFI_" #name, lo, hi, def, def },
	DOFI_NUMBERS(X)
#undef X
};

static const char *const string_env[DOFI_STR_COUNT] = {
#define X(name, text) "DAPL_OFI_" #name,
	DOFI_STRINGS(X)
#undef X
};

static void load(struct number *n)
{
	const char *text = getenv(n->env);
	char *end;
	long v;

	if (!text || !*text) {
		n->value = n->def;
		return;
	}
	errno = 0;
	v = strtol(text, &end, 0);
	if (errno || *end || v < n->lo || v > n->hi) {
		dofi_log(DOFI_LOG_ERROR, "%s=%s is no number from %ld to %ld; %ld is used", n->env,
			 text, n->lo, n->hi, n->def);
		v = n->def;
	}
	n->value = v;
}

void dofi_param_load(void)
{
	for (int i = 0; i < DOFI_NUM_COUNT; i++)
		load(&numbers[i]);
}

long dofi_param(enum dofi_number which)
{
	return numbers[which].value;
}

const char *dofi_param_str(enum dofi_string which)
{
	const char *text = getenv(string_env[which]);

	return text && *text ? text : NULL;
}
