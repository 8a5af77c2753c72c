/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the output of a program over two fabrics, after normalising what differs in every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc.h"
#include "run.h"
#include "text.h"

#define UNITS \
	"ns|nsec|us|usecs?|ms|msecs?|s|secs?|seconds?|minutes?|%|" \
	"[kKMG]?i?([bB]|[bB]its?|[bB]ytes)(/s|/sec|ps)|(msgs?|ops|iters)/s(ec)?"
#define DIFF_LIMIT 20.0

/*
 * Applied in order; the first group of a pattern is kept, the rest is replaced. No pattern: the
 * process ids of the run, which may also be parts of times and addresses.
 */
static const struct {
	const char *pattern, *replacement;
} rules[] = {
	{ "()[0-9]{4}-[0-9]{2}-[0-9]{2}", "<date>" },
	{ "(^|[^:0-9a-fA-F])[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?\\>", "<time>" },
	{ "()\\<([0-9]{1,3}[.]){3}[0-9]{1,3}(:[0-9]+)?\\>", "<address>" },
	{ "(^|[^:0-9a-zA-Z_])([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}|"
	  "([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){0,6})?::([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*)?)"
	  "(%[a-z0-9]+)?",
	  "<address>" },
	{ NULL, "<pid>" },
	{ "()\\<0[xX][0-9a-fA-F]+", "<hex>" },
	{ "()\\<[0-9][0-9a-fA-F]{7,15}\\>", "<hex>" },
	{ "()\\<[a-fA-F][0-9a-fA-F]*[0-9][0-9a-fA-F]{6,15}\\>", "<hex>" },
	/* dtest prints ports in this form, without 0x */
	{ "(\\<([pP]ort|PORT)[] =:#(]+)[0-9a-fA-F]{1,4}\\>", "<n>" },
	{ "(\\<([pP][iI][dD]|[tT][iI][dD]|[pP]ort|PORT|[fF][dD]|[qQ][pP][nN]?)[] =:#(]*)[0-9]+",
	  "<n>" },
	{ "()\\<[0-9]+[.][0-9]+([eE][-+]?[0-9]+)?", "<n>" },
	{ "()\\<[0-9]+( ?(" UNITS ")([^a-zA-Z0-9]|$))", NULL },
	{ "()[ \t\r]+", " " },
};
#define RULES (sizeof(rules) / sizeof(*rules))

static regex_t compiled[RULES];

static void rules_compile(void)
{
	static bool done;

	for (size_t i = 0; i < RULES && !done; i++)
		if (rules[i].pattern && regcomp(&compiled[i], rules[i].pattern, REG_EXTENDED))
			abort();
	done = true;
}

/* A text of limited size. */
struct buffer {
	char text[8192];
	size_t used;
};

static void buffer_put(struct buffer *b, const char *text, size_t len)
{
	size_t space = sizeof(b->text) - 1 - b->used;

	if (len > space)
		len = space;
	memcpy(b->text + b->used, text, len);
	b->used += len;
	b->text[b->used] = '\0';
}

/*
 * Replaces each match. With groups, keeps the first one before the new text; without
 * `replacement`, keeps the second one after "<n>".
 */
static void buffer_replace(struct buffer *b, const regex_t *re, const char *replacement,
			   bool groups)
{
	struct buffer old = *b;
	const char *from = old.text;
	regmatch_t m[3];
	int flags = 0;

	b->used = 0;
	b->text[0] = '\0';
	while (*from && !regexec(re, from, groups ? 3 : 1, m, flags)) {
		regoff_t keep = groups ? m[1].rm_eo : m[0].rm_so;
		regoff_t end = groups && !replacement ? m[2].rm_so : m[0].rm_eo;

		flags = REG_NOTBOL;
		if (end <= 0 || m[0].rm_eo == m[0].rm_so) {
			/* An empty match: step over one character. */
			buffer_put(b, from++, 1);
			continue;
		}
		buffer_put(b, from, (size_t)keep);
		buffer_put(b, replacement ? replacement : "<n>",
			   strlen(replacement ? replacement : "<n>"));
		from += end;
	}
	buffer_put(b, from, strlen(from));
}

static void buffer_replace_text(struct buffer *b, const char *what, const char *replacement)
{
	struct buffer old = *b;
	const char *from = old.text, *at;

	b->used = 0;
	b->text[0] = '\0';
	while ((at = strstr(from, what))) {
		buffer_put(b, from, (size_t)(at - from));
		buffer_put(b, replacement, strlen(replacement));
		from = at + strlen(what);
	}
	buffer_put(b, from, strlen(from));
}

static void buffer_replace_pids(struct buffer *b, const struct run_trial *trial,
				const char *replacement)
{
	char pattern[64];
	regex_t re;

	for (int i = 0; i < 2; i++) {
		if (trial->pids[i] <= 0)
			continue;
		snprintf(pattern, sizeof(pattern), "()\\<%d\\>", trial->pids[i]);
		if (regcomp(&re, pattern, REG_EXTENDED))
			continue;
		buffer_replace(b, &re, replacement, true);
		regfree(&re);
	}
}

struct writer {
	FILE *out;
	const struct run_trial *trial;
	const struct run_options *opts;
};

static int normalise_line(char *line, void *arg)
{
	const struct writer *w = arg;
	struct buffer b = { .used = 0 };
	size_t i;

	buffer_put(&b, line, strlen(line));
	for (i = 0; i < w->opts->ignore.count; i++)
		buffer_replace(&b, &w->opts->ignore.re[i], "<ignored>", false);
	buffer_replace_text(&b, w->trial->dir, "<folder>");
	for (i = 0; i < RULES; i++)
		if (rules[i].pattern)
			buffer_replace(&b, &compiled[i], rules[i].replacement, true);
		else
			buffer_replace_pids(&b, w->trial, rules[i].replacement);
	if (b.used && b.text[b.used - 1] == ' ')
		b.text[b.used - 1] = '\0';
	fprintf(w->out, "%s\n", b.text);
	return 0;
}

static bool normalise(const struct run_trial *trial, const struct run_options *opts)
{
	struct writer w = { .trial = trial, .opts = opts };
	char path[PATH_MAX];
	size_t len;
	char *text;

	rules_compile();
	run_path(path, sizeof(path), trial, RUN_CLIENT_LOG);
	text = text_read(path, &len);
	run_path(path, sizeof(path), trial, RUN_NORMAL);
	w.out = fopen(path, "we");
	if (text && w.out)
		text_lines(text, normalise_line, &w);
	free(text);
	return w.out && !fclose(w.out) && text;
}

struct diff {
	char path[2][PATH_MAX];
	const char *label[2];
};

static int exec_diff(void *arg)
{
	struct diff *d = arg;

	execlp("diff", "diff", "-U1", "--label", d->label[0], "--label", d->label[1], "--",
	       d->path[0], d->path[1], (char *)NULL);
	return errno;
}

static int count_change(char *line, void *arg)
{
	if ((*line == '+' || *line == '-') && strncmp(line, "+++ ", 4) && strncmp(line, "--- ", 4))
		++*(unsigned int *)arg;
	return 0;
}

void run_compare(struct run_trial *trial, const struct run_trial *base,
		 const struct run_options *opts)
{
	struct diff d = { .label = { base->name, trial->name } };
	unsigned int lines = 0;
	char log[PATH_MAX];
	struct proc p;
	size_t len;
	char *text;
	int err;

	if (!normalise(base, opts) || !normalise(trial, opts)) {
		trial->verdict = RUN_FAIL;
		snprintf(trial->reason, sizeof(trial->reason), "its output cannot be compared");
		return;
	}
	run_path(d.path[0], sizeof(d.path[0]), base, RUN_NORMAL);
	run_path(d.path[1], sizeof(d.path[1]), trial, RUN_NORMAL);
	run_path(log, sizeof(log), trial, RUN_DIFF);
	err = proc_start(&p, log, exec_diff, &d);
	if (!err && !proc_wait_for(&p, proc_now() + DIFF_LIMIT))
		proc_end_all();
	if (!err && !p.running && WIFEXITED(p.status) && !WEXITSTATUS(p.status)) {
		unlink(log);
		return;
	}
	trial->verdict = RUN_FAIL;
	if (err || p.running || !WIFEXITED(p.status) || WEXITSTATUS(p.status) != 1) {
		snprintf(trial->reason, sizeof(trial->reason), "diff does not work: %s",
			 err ? strerror(-err) : "see " RUN_DIFF);
		return;
	}
	text = text_read(log, &len);
	if (text)
		text_lines(text, count_change, &lines);
	free(text);
	snprintf(trial->reason, sizeof(trial->reason),
		 "output differs from that of %s (%u line%s of difference)", base->name, lines,
		 lines == 1 ? "" : "s");
}
