/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be set, and what is set now?
 *
 * The provider's settings come from its own table (prov_ofi/base/param.h), their values from its
 * own reader, which is linked into this program and whose complaints are caught here.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/param.h"
#include "info.h"
#include "json.h"
#include "memory.h"
#include "text.h"

#define PREFIX "DAPL_OFI_"
#define MAX_COMPLAINTS 64

struct setting {
	const char *name, *text, *what;
	long lo, hi, def;
	bool number;
	int which;
};

static const struct setting settings[] = {
#define X(name, lo, hi, def, text) \
	{ PREFIX #name, text, "number", lo, hi, def, true, DOFI_NUM_##name },
	DOFI_NUMBERS(X)
#undef X
#define X(name, text) { PREFIX #name, text, "text", 0, 0, 0, false, DOFI_STR_##name },
	DOFI_STRINGS(X)
#undef X
};

/* libdat's own; it reads them where it needs them. */
static const struct setting libdat_settings[] = {
	{ "DAT_OVERRIDE", "registry file to use instead of the installed dat.conf", "file", 0, 0,
	  0, false, -1 },
	{ "DAT_DBG_TYPE", "what libdat tells: sum of 1 errors, 2 general, 4 registry file, 8 "
	  "registrations, 16 providers, 32 the program's calls", "number", 0, 0x3f, 1, true, -1 },
	{ "DAT_DBG_DEST", "where libdat tells it: sum of 1 stderr, 2 syslog", "number", 0, 3, 1,
	  true, -1 },
};

#define NUM(array) (sizeof(array) / sizeof(*(array)))

static char *complaint[MAX_COMPLAINTS];
static int num_complaints;

/* The log's own file is not for this program. */
void dofi_log_file(const char *path)
{
	(void)path;
}

/* The provider's reader of settings speaks through this. */
void dofi_log(enum dofi_log_level level, const char *fmt, ...)
{
	char text[512];
	va_list args;

	(void)level;
	if (num_complaints == MAX_COMPLAINTS)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	complaint[num_complaints++] = info_strdup(text);
}

void dofi_report(const char *fmt, ...)
{
	(void)fmt;
}

static bool is_set(const struct setting *s)
{
	const char *text = getenv(s->name);

	return text && *text;
}

/* In effect now; NULL: nothing is. */
static char *value_of(const struct setting *s)
{
	const char *text = getenv(s->name);

	if (s->number && s->which >= 0)
		return info_format("%ld", dofi_param((enum dofi_number)s->which));
	if (s->which >= 0)
		text = dofi_param_str((enum dofi_string)s->which);
	if (text && *text)
		return info_strdup(text);
	return s->number ? info_format("%ld", s->def) : NULL;
}

static void print_setting(const struct setting *s)
{
	char *value = value_of(s);

	printf("%s = %s%s\n", s->name, value ? value : "(not set)",
	       is_set(s) ? " (environment)" : "");
	if (s->number)
		printf("    default %ld, from %ld to %ld\n", s->def, s->lo, s->hi);
	printf("    ");
	text_wrap(4, 4, "%s", s->text);
	free(value);
}

static void json_setting(const struct setting *s)
{
	char *value = value_of(s);

	json_object(NULL);
	json_text("name", s->name);
	json_text("type", s->what);
	if (s->number && s->which >= 0)
		json_raw("value", value);
	else
		json_text("value", value);
	json_flag("set", is_set(s));
	if (s->number) {
		json_number("default", s->def);
		json_number("least", s->lo);
		json_number("greatest", s->hi);
	}
	json_text("meaning", s->text);
	json_end();
	free(value);
}

/* What is wrong with the settings goes to stderr; in JSON it is part of the answer, too. */
static void tell_complaints(bool json)
{
	int i;

	if (json) {
		json_array("problems");
		for (i = 0; i < num_complaints; i++)
			json_text(NULL, complaint[i]);
		json_end();
	}
	for (i = 0; i < num_complaints; i++) {
		if (!json)
			fprintf(stderr, "dat_info: %s\n", complaint[i]);
		free(complaint[i]);
	}
}

int info_settings(const struct info_options *opts)
{
	void (*tell)(const struct setting *s) = opts->json ? json_setting : print_setting;
	bool wrong;
	size_t i;

	dofi_param_load();
	dofi_param_warn_unknown();
	wrong = num_complaints > 0;
	if (opts->json) {
		json_object(NULL);
		json_array("settings");
	}
	for (i = 0; i < NUM(settings); i++)
		tell(&settings[i]);
	for (i = 0; i < NUM(libdat_settings); i++)
		tell(&libdat_settings[i]);
	if (opts->json)
		json_end();
	tell_complaints(opts->json);
	if (opts->json)
		json_end();
	return wrong;
}
