/* SPDX-License-Identifier: BSD-2-Clause */
/* Plots the figures with gnuplot. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc.h"
#include "report.h"

#define PANELS 3

static const struct {
	const char *title;
	const char *unit;
	double (*value)(const struct perf_row *r, enum perf_kind k);
	/* The rate of the bandwidth test has no panel: it would show the same figures again. */
	bool rate_test;
} panel[PANELS] = {
	{ "latency", "us", perf_row_latency, false },
	{ "bandwidth", "10^6 bytes/s", perf_row_mbps, false },
	{ "message rate", "messages/s", perf_row_rate, true },
};

/*
 * One curve of a panel: all parameters but the size are equal. Curves that differ only in the kind
 * have the same colour.
 */
struct curve {
	const struct perf_fabric *fabric;
	enum perf_op op;
	enum perf_mode mode;
	enum perf_kind kind;
};

int perf_plot_possible(void)
{
	char *path = getenv("PATH"), *copy, *dir, *save = NULL, file[4096];
	bool found = false;

	copy = strdup(path ? path : "/usr/bin:/bin");
	for (dir = copy ? strtok_r(copy, ":", &save) : NULL; dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof(file), "%s/gnuplot", dir);
		found = !access(file, X_OK);
	}
	free(copy);
	return found ? 0
		     : perf_error(-ENOENT, NULL, "--plot",
				  "needs gnuplot, which is not "
				  "installed (Debian: apt-get install gnuplot-nox)");
}

/* Writes the points of a curve, and returns how many there are. */
static int points(FILE *to, const struct perf_book *b, const struct curve *c, int p)
{
	struct perf_row row;
	double v;
	int i = 0, n = 0;

	while (perf_row_next(b, c->fabric, &i, &row)) {
		if (row.c->op != c->op || row.c->mode != c->mode)
			continue;
		if (panel[p].rate_test && !row.test[PERF_RATE])
			continue;
		v = panel[p].value(&row, c->kind);
		if (isnan(v) || v <= 0)
			continue;
		if (to)
			fprintf(to, "%zu %.6f\n", row.c->size, v);
		n++;
	}
	return n;
}

static bool next_curve(const struct perf_book *b, struct curve *c, int *at)
{
	int kinds = PERF_KINDS, modes = PERF_MODES * kinds, ops = PERF_ALL_OPS * modes;

	if (*at >= b->fabrics * ops)
		return false;
	c->fabric = &b->fabric[*at / ops];
	c->op = (enum perf_op)(*at % ops / modes);
	c->mode = (enum perf_mode)(*at % modes / kinds);
	c->kind = (enum perf_kind)(*at % kinds);
	++*at;
	return true;
}

static void plot_draw_panel(FILE *to, const struct perf_book *b, int p)
{
	const char *sep = "plot ";
	struct curve c;
	int at, n = 0, colour = 0, last = -1;

	for (at = 0; next_curve(b, &c, &at);) {
		if (!points(NULL, b, &c, p))
			continue;
		if (!n++)
			fprintf(to, "set title '%s'\nset ylabel '%s'\n", panel[p].title,
				panel[p].unit);
		if (last != (at - 1) / PERF_KINDS)
			colour++;
		last = (at - 1) / PERF_KINDS;
		fprintf(to,
			"%s'-' using 1:2 with linespoints lc %d dt %d pt %d title \"%s %s %s%s%s\"",
			sep, colour, c.kind == PERF_DAT ? 1 : 2, c.kind == PERF_DAT ? 7 : 6,
			c.fabric->name, perf_op_name[c.op], perf_mode_name[c.mode],
			c.kind == PERF_DAT ? "" : " ",
			c.kind == PERF_DAT ? "" : perf_kind_name[c.kind]);
		sep = ", ";
	}
	if (!n)
		return;
	fprintf(to, "\n");
	for (at = 0; next_curve(b, &c, &at);)
		if (points(to, b, &c, p))
			fprintf(to, "e\n");
}

static bool panel_has_points(const struct perf_book *b, int p)
{
	struct curve c;
	int at;

	for (at = 0; next_curve(b, &c, &at);)
		if (points(NULL, b, &c, p))
			return true;
	return false;
}

static void plot_draw(FILE *to, const struct perf_book *b)
{
	int p, panels = 0;

	for (p = 0; p < PANELS; p++)
		panels += panel_has_points(b, p);
	fprintf(to,
		"set terminal svg size 900,%d dynamic noenhanced background rgb 'white'\n"
		"set output ARG1\n"
		"set multiplot layout %d,1\n"
		"set logscale x 2\nset logscale y 10\nset xlabel 'bytes'\n"
		"set format x '%%.0f'\nset grid\nset key outside right\n",
		420 * panels, panels);
	for (p = 0; p < PANELS; p++)
		plot_draw_panel(to, b, p);
	fprintf(to, "unset multiplot\n");
}

/* Passes the file name as an argument, so that gnuplot does not interpret it. */
static pid_t start(const char *script, const char *file)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execlp("gnuplot", "gnuplot", "-c", script, file, (char *)NULL);
	_exit(127);
}

int perf_plot(const struct perf_book *b)
{
	char script[] = "/tmp/dat_perf.XXXXXX";
	int status = -1, fd = mkstemp(script);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	pid_t pid;

	if (!to)
		return perf_error(-errno, NULL, "--plot", "%s: %s", script, strerror(errno));
	plot_draw(to, b);
	if (!fclose(to)) {
		pid = start(script, b->opts->plot);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			status = -1;
	}
	unlink(script);
	if (status || access(b->opts->plot, R_OK))
		return perf_error(-EIO, NULL, "--plot", "gnuplot could not draw %s", b->opts->plot);
	return 0;
}
