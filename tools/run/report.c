/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints results as a table or as TAP. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "text.h"

#define TAIL_LINES 10
#define DIFF_LINES 14

static int name_width(const struct run_result *result)
{
	size_t width = strlen("fabric");

	for (size_t i = 0; i < result->count; i++)
		if (strlen(result->trials[i].name) > width)
			width = strlen(result->trials[i].name);
	return (int)width;
}

void run_report_begin(const struct run_result *result)
{
	if (result->opts->format == RUN_TABLE)
		printf("%-*s  result     time  reason\n", name_width(result), "fabric");
	else if (result->opts->format == RUN_TAP)
		printf("TAP version 13\n1..%zu\n", result->count);
	fflush(stdout);
}

/* On a terminal, prints the row of the current run; the result overwrites it. */
void run_report_running(const struct run_result *result, size_t index)
{
	if (result->opts->format != RUN_TABLE || !isatty(STDOUT_FILENO))
		return;
	printf("%-*s  ...\r", name_width(result), result->trials[index].name);
	fflush(stdout);
}

/* Prints the lines of a text, marked as output of a program. */
static void print_marked(const char *title, const char *text, const char *mark)
{
	if (!*text)
		return;
	printf("%s-- %s\n", mark, title);
	while (*text) {
		size_t len = strcspn(text, "\n");

		fputs(mark, stdout);
		text_plain(stdout, text, len);
		putchar('\n');
		text += len + (text[len] != '\0');
	}
}

static void print_file(const struct run_trial *trial, const char *file, unsigned int lines,
		       bool head, const char *mark)
{
	char path[PATH_MAX], title[64], *text;
	const char *from, *end;
	size_t len;

	run_path(path, sizeof(path), trial, file);
	text = text_read(path, &len);
	if (!text)
		return;
	from = text;
	if (head) {
		for (end = text; lines && *end; lines--, end += *end == '\n')
			end = strchrnul(end, '\n');
		text[end - text] = '\0';
	} else if (lines) {
		from = text_tail(text, len, lines);
	}
	snprintf(title, sizeof(title), "%s%s", file,
		 from > text     ? ", its end"
		 : head && *text ? ", its beginning"
				 : "");
	print_marked(title, from, mark);
	free(text);
}

static void print_outputs(const struct run_options *opts, const struct run_trial *trial,
			  const char *mark)
{
	bool differs = trial->verdict == RUN_FAIL && strstr(trial->reason, "differs");

	if (!trial->ran)
		return;
	if (differs)
		print_file(trial, RUN_DIFF, DIFF_LINES, true, mark);
	if (opts->show || (trial->verdict == RUN_FAIL && !differs)) {
		print_file(trial, RUN_CLIENT_LOG, opts->show ? 0 : TAIL_LINES, false, mark);
		print_file(trial, RUN_SERVER_LOG, opts->show ? 0 : TAIL_LINES, false, mark);
	}
}

static void print_row(const struct run_result *result, const struct run_trial *trial)
{
	printf("%-*s  %-6s %6.2f s%s", name_width(result), trial->name,
	       run_verdict_name(trial->verdict), trial->seconds, *trial->reason ? "  " : "");
	text_plain(stdout, trial->reason, strlen(trial->reason));
	putchar('\n');
	print_outputs(result->opts, trial, "    | ");
}

static void print_tap(const struct run_result *result, size_t index)
{
	const struct run_trial *trial = &result->trials[index];

	printf("%sok %zu - %s", trial->verdict == RUN_FAIL ? "not " : "", index + 1, trial->name);
	if (trial->verdict == RUN_SKIP) {
		fputs(" # SKIP ", stdout);
		text_plain(stdout, trial->reason, strlen(trial->reason));
	}
	printf("\n# time %.2f s\n", trial->seconds);
	if (trial->verdict == RUN_FAIL) {
		fputs("# ", stdout);
		text_plain(stdout, trial->reason, strlen(trial->reason));
		putchar('\n');
	}
	print_outputs(result->opts, trial, "#   | ");
}

void run_report_trial(const struct run_result *result, size_t index)
{
	if (result->opts->format == RUN_TABLE)
		print_row(result, &result->trials[index]);
	else if (result->opts->format == RUN_TAP)
		print_tap(result, index);
	fflush(stdout);
}

void run_report_end(const struct run_result *result, const char *kept)
{
	const char *mark = result->opts->format == RUN_TAP ? "# " : "";

	if (result->opts->format == RUN_JSON) {
		run_report_json(result, stdout, kept);
		return;
	}
	printf("%s%u passed, %u failed, %u skipped\n", mark, result->passed, result->failed,
	       result->skipped);
	if (kept)
		printf("%soutput: %s\n", mark, kept);
}
