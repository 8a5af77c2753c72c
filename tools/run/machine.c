/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes results as JSON and as JUnit XML. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "text.h"

#define SYSTEM_OUT_MAX (64 * 1024)

static void json_string(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": ", name);
	if (text) {
		fputc('"', out);
		text_json(out, text, strlen(text));
		fputc('"', out);
	} else {
		fputs("null", out);
	}
}

static void json_trial(FILE *out, const struct run_trial *trial, const char *kept)
{
	fputs("    {", out);
	json_string(out, "fabric", trial->fabric->name);
	fputs(", ", out);
	json_string(out, "params", trial->fabric->params);
	fprintf(out, ", \"run\": %u, ", trial->number);
	json_string(out, "result", run_verdict_name(trial->verdict));
	fputs(", ", out);
	json_string(out, "reason", trial->reason);
	fprintf(out, ", \"seconds\": %.3f, ", trial->seconds);
	json_string(out, "output", kept ? trial->dir : NULL);
	fputc('}', out);
}

void run_report_json(const struct run_result *result, FILE *out, const char *kept)
{
	const struct run_options *opts = result->opts;

	fputs("{\n  \"command\": [", out);
	for (int i = 0; opts->command[i]; i++) {
		fputs(i ? ", \"" : "\"", out);
		text_json(out, opts->command[i], strlen(opts->command[i]));
		fputc('"', out);
	}
	fputs("],\n  ", out);
	json_string(out, "server", opts->server);
	fputs(",\n  \"results\": [\n", out);
	for (size_t i = 0; i < result->count; i++) {
		json_trial(out, &result->trials[i], kept);
		fputs(i + 1 < result->count ? ",\n" : "\n", out);
	}
	fprintf(out, "  ],\n  \"passed\": %u, \"failed\": %u, \"skipped\": %u,\n  ", result->passed,
		result->failed, result->skipped);
	json_string(out, "output", kept);
	fputs("\n}\n", out);
}

static void xml_file(FILE *out, const struct run_trial *trial, const char *file,
		     const char *element)
{
	char path[PATH_MAX], *text;
	size_t len, from;

	run_path(path, sizeof(path), trial, file);
	text = text_read(path, &len);
	if (text && len) {
		from = len > SYSTEM_OUT_MAX ? len - SYSTEM_OUT_MAX : 0;
		fprintf(out, "      <%s>", element);
		text_xml(out, text + from, len - from);
		fprintf(out, "</%s>\n", element);
	}
	free(text);
}

static void xml_trial(FILE *out, const struct run_trial *trial, const char *program)
{
	const char *element = trial->verdict == RUN_FAIL ? "failure" : "skipped";

	fputs("    <testcase classname=\"", out);
	text_xml(out, program, strlen(program));
	fprintf(out, "\" name=\"%s\" time=\"%.3f\">\n", trial->name, trial->seconds);
	if (trial->verdict != RUN_PASS) {
		fprintf(out, "      <%s message=\"", element);
		text_xml(out, trial->reason, strlen(trial->reason));
		fputs("\"/>\n", out);
	}
	if (trial->ran) {
		xml_file(out, trial, RUN_CLIENT_LOG, "system-out");
		xml_file(out, trial, RUN_SERVER_LOG, "system-err");
	}
	fputs("    </testcase>\n", out);
}

bool run_report_junit(const struct run_result *result)
{
	const struct run_options *opts = result->opts;
	const char *slash = strrchr(opts->command[0], '/');
	FILE *out = fopen(opts->junit, "we");
	bool ok;

	if (out) {
		fprintf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
			"  <testsuite name=\"dat_run\" tests=\"%zu\" failures=\"%u\" errors=\"0\" "
			"skipped=\"%u\" time=\"%.3f\">\n",
			result->count, result->failed, result->skipped, result->seconds);
		for (size_t i = 0; i < result->count; i++)
			xml_trial(out, &result->trials[i], slash ? slash + 1 : opts->command[0]);
		fputs("  </testsuite>\n</testsuites>\n", out);
	}
	ok = out && !ferror(out);
	if (out && fclose(out))
		ok = false;
	if (!ok)
		fprintf(stderr, "dat_run: %s: %s\n", opts->junit, strerror(errno));
	return ok;
}
