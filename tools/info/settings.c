/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows the settings and their values. The provider's settings come from its own table
 * (prov_ofi/base/param.h), the values from its own parser, which is linked into this program; its
 * warnings are collected here.
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
#define MAX_WARNINGS 64

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

/* The settings of libdat, which reads them where it needs them. */
static const struct setting libdat_settings[] = {
	{ "DAT_OVERRIDE", "registry file to use instead of the installed dat.conf", "file", 0, 0, 0,
	  false, -1 },
	{ "DAT_DBG_TYPE",
	  "what libdat logs: sum of 1 errors, 2 general, 4 registry file, 8 "
	  "registrations, 16 providers, 32 the program's calls",
	  "number", 0, 0x3f, 1, true, -1 },
	{ "DAT_DBG_DEST", "where libdat logs: sum of 1 stderr, 2 syslog", "number", 0, 3, 1, true,
	  -1 },
};

#define NUM(array) (sizeof(array) / sizeof(*(array)))

static char *warning[MAX_WARNINGS];
static int num_warnings;

/* This program does not write the log. */
void dofi_log_file(const char *path)
{
	(void)path;
}

void dofi_log_set_level(long level)
{
	(void)level;
}

/* Collects the warnings of the provider's parser of settings. */
void dofi_log(enum dofi_log_level level, const char *fmt, ...)
{
	char text[512];
	va_list args;

	(void)level;
	if (num_warnings == MAX_WARNINGS)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	warning[num_warnings++] = info_strdup(text);
}

void dofi_report(const char *fmt, ...)
{
	(void)fmt;
}

static const char *setting_former(const struct setting *s)
{
	return s->number && s->which >= 0 ? dofi_param_former((enum dofi_number)s->which) : NULL;
}

static bool env_is_set(const char *name)
{
	const char *text = name ? getenv(name) : NULL;

	return text && *text;
}

static bool setting_is_set(const struct setting *s)
{
	return env_is_set(s->name) || env_is_set(setting_former(s));
}

/* The effective value; NULL if there is none. */
static char *setting_value(const struct setting *s)
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
	char *value = setting_value(s);

	printf("%s = %s%s\n", s->name, value ? value : "(not set)",
	       setting_is_set(s) ? " (environment)" : "");
	if (s->number)
		printf("    default %ld, from %ld to %ld\n", s->def, s->lo, s->hi);
	if (setting_former(s))
		printf("    former name, still accepted: %s\n", setting_former(s));
	printf("    ");
	text_wrap(4, 4, "%s", s->text);
	free(value);
}

static void json_setting(const struct setting *s)
{
	char *value = setting_value(s);

	json_object(NULL);
	json_text("name", s->name);
	if (setting_former(s))
		json_text("former_name", setting_former(s));
	json_text("type", s->what);
	if (s->number && s->which >= 0)
		json_raw("value", value);
	else
		json_text("value", value);
	json_flag("set", setting_is_set(s));
	if (s->number) {
		json_number("default", s->def);
		json_number("least", s->lo);
		json_number("greatest", s->hi);
	}
	json_text("meaning", s->text);
	json_end();
	free(value);
}

/* Prints the warnings to stderr, or as a member of the JSON output. */
static void report_warnings(bool json)
{
	int i;

	if (json) {
		json_array("problems");
		for (i = 0; i < num_warnings; i++)
			json_text(NULL, warning[i]);
		json_end();
	}
	for (i = 0; i < num_warnings; i++) {
		if (!json)
			fprintf(stderr, "dat_info: %s\n", warning[i]);
		free(warning[i]);
	}
}

int info_settings(const struct info_options *opts)
{
	void (*print)(const struct setting *s) = opts->json ? json_setting : print_setting;
	bool wrong;
	size_t i;

	dofi_param_load();
	dofi_param_warn_unknown();
	wrong = num_warnings > 0;
	if (opts->json) {
		json_object(NULL);
		json_array("settings");
	}
	for (i = 0; i < NUM(settings); i++)
		print(&settings[i]);
	for (i = 0; i < NUM(libdat_settings); i++)
		print(&libdat_settings[i]);
	if (opts->json)
		json_end();
	report_warnings(opts->json);
	if (opts->json)
		json_end();
	return wrong;
}
