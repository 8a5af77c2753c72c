/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides whether a program succeeded, by its exit status and its output. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "run.h"
#include "text.h"

const char *run_verdict_name(enum run_verdict verdict)
{
	static const char *const names[] = { "pass", "fail", "skip" };

	return names[verdict];
}

static const char *signal_name(int sig)
{
	const char *name = sigabbrev_np(sig);

	return name ? name : "?";
}

/* A shell reports a signal as status 128 + its number. */
void run_judge_status(int status, char *reason, size_t size)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	*reason = '\0';
	if (WIFSIGNALED(status))
		snprintf(reason, size, "killed by SIG%s (signal %d)%s",
			 signal_name(WTERMSIG(status)), WTERMSIG(status),
			 WCOREDUMP(status) ? ", core dumped" : "");
	else if (code > 128 && sigabbrev_np(code - 128))
		snprintf(reason, size, "exit status %d, as after SIG%s", code,
			 signal_name(code - 128));
	else if (code)
		snprintf(reason, size, "exit status %d", code);
}

struct search {
	const struct run_patterns *expect, *reject;
	bool seen[RUN_MAX_PATTERNS];
	char *reason;
	size_t size;
};

static int judge_line(char *line, void *arg)
{
	struct search *s = arg;
	size_t i;

	for (i = 0; i < s->reject->count; i++) {
		if (regexec(&s->reject->re[i], line, 0, NULL, 0))
			continue;
		line += strspn(line, " \t");
		snprintf(s->reason, s->size, "its output has \"%.*s\"",
			 (int)strcspn(line, "\r") > 150 ? 150 : (int)strcspn(line, "\r"), line);
		return 1;
	}
	for (i = 0; i < s->expect->count; i++)
		if (!regexec(&s->expect->re[i], line, 0, NULL, 0))
			s->seen[i] = true;
	return 0;
}

void run_judge_output(const struct run_patterns *expect, const struct run_patterns *reject,
		      const char *path, char *reason, size_t size)
{
	struct search s = { .expect = expect, .reject = reject, .reason = reason, .size = size };
	size_t len;
	char *text;

	*reason = '\0';
	if (!expect->count && !reject->count)
		return;
	text = text_read(path, &len);
	if (text && !text_lines(text, judge_line, &s))
		for (size_t i = 0; i < expect->count && !*reason; i++)
			if (!s.seen[i])
				snprintf(reason, size, "its output has no line with /%s/",
					 expect->text[i]);
	if (!text)
		snprintf(reason, size, "its output cannot be read");
	free(text);
}
