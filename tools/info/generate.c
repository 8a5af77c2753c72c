/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generates a dat.conf for this machine. Each line is tried in both API versions before it is
 * written, so that all names in the file open.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabrics.h"
#include "info.h"
#include "json.h"
#include "memory.h"
#include "probe.h"
#include "text.h"

struct line {
	char *name, *fabric;
	char *domain; /* NULL: the provider chooses */
	char *device, *address;
	bool opens[INFO_APIS];
};

struct plan {
	struct line *lines;
	size_t num;
};

/* Opens the name through a dat.conf, as programs do. */
static bool line_probe(struct line *l, int api)
{
	char *conf = info_conf_line(api, l->name, false, l->fabric, l->domain);
	struct info_open what = {
		.api = api,
		.key = { l->name, info_api[api].major, info_api[api].minor, false },
		.parts = INFO_OPEN_ATTRIBUTES,
		.conf = conf,
	};
	struct info_attempt attempt;
	const char *address;
	bool good;

	info_attempt_run(&attempt, &what);
	/* A fabric that ignores the interface needs no line for it. */
	good = attempt.opened && attempt.device &&
	       (!l->domain || !strcmp(l->domain, attempt.device));
	if (good && !l->device) {
		address = info_probe_fact(&attempt.probe, "adapter", "address");
		l->device = info_strdup(attempt.device);
		l->address = info_strdup(address ? address : "");
	}
	info_attempt_free(&attempt);
	free(conf);
	return good;
}

static void line_free(struct line *l)
{
	free(l->name);
	free(l->fabric);
	free(l->domain);
	free(l->device);
	free(l->address);
}

static void plan_add_line(struct plan *plan, const struct info_options *opts, const char *fabric,
			  const char *domain)
{
	struct line l = { .fabric = info_strdup(fabric) };
	bool any = false;
	int api;

	l.name = domain ? info_format("ofi-%s-%s", fabric, domain) : info_format("ofi-%s", fabric);
	l.domain = domain ? info_strdup(domain) : NULL;
	for (api = 0; api < INFO_APIS; api++) {
		l.opens[api] = opts->api[api] && line_probe(&l, api);
		any |= l.opens[api];
	}
	if (!any) {
		line_free(&l);
		return;
	}
	plan->lines = info_realloc(plan->lines, plan->num + 1, sizeof(*plan->lines));
	plan->lines[plan->num++] = l;
}

/*
 * Many programs use the first entry: puts the entry that leaves the choice to the provider first,
 * and the loopback interface last.
 */
static void plan_build(struct plan *plan, const struct info_options *opts)
{
	struct info_netif *netifs = info_netifs(), *n;
	struct info_fabrics fabrics;
	size_t i;
	int last;

	info_fabrics_find(&fabrics, opts->api[1] ? 1 : 0);
	for (i = 0; i < fabrics.num; i++) {
		if (!fabrics.list[i].usable)
			continue;
		plan_add_line(plan, opts, fabrics.list[i].name, NULL);
		for (last = 0; last < 2; last++)
			for (n = netifs; n->name; n++)
				if (n->up && n->addresses && n->loopback == last)
					plan_add_line(plan, opts, fabrics.list[i].name, n->name);
	}
	if (fabrics.reason)
		fprintf(stderr, "dat_info: libfabric: %s\n", fabrics.reason);
	info_fabrics_free(&fabrics);
	info_netifs_free(netifs);
}

static void line_write(FILE *out, const struct line *l)
{
	char *text;
	int api, ts;

	if (l->domain)
		fprintf(out, "\n# %s over %s (%s)\n", l->fabric, l->device, l->address);
	else
		fprintf(out, "\n# %s over the interface that suits best, now %s (%s)\n", l->fabric,
			l->device, l->address);
	for (api = INFO_APIS - 1; api >= 0; api--) {
		for (ts = 0; ts < 2 && l->opens[api]; ts++) {
			text = info_conf_line(api, l->name, ts, l->fabric, l->domain);
			fputs(text, out);
			free(text);
		}
	}
}

static void plan_write(FILE *out, const struct plan *plan)
{
	size_t i;

	fputs("# dat.conf, written by dat_info -g: what opened on this machine\n"
	      "# name, API, thread-safety, default, library, version, parameters\n",
	      out);
	for (i = 0; i < plan->num; i++)
		line_write(out, &plan->lines[i]);
}

/* Writes a temporary file in the same directory first: the dat.conf is replaced atomically. */
static int plan_write_file(const struct info_options *opts, const struct plan *plan)
{
	char *temp = info_format("%s.XXXXXX", opts->output);
	int fd = mkostemp(temp, O_CLOEXEC), err = 0;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!out) {
		err = errno;
	} else {
		plan_write(out, plan);
		if (fchmod(fd, 0644) || fflush(out) || ferror(out) || fsync(fd))
			err = errno ? errno : EIO;
		if (fclose(out) && !err)
			err = errno;
		/* link() refuses to replace, rename() does not. */
		if (!err && (opts->force ? rename(temp, opts->output) : link(temp, opts->output)))
			err = errno;
		if (err || !opts->force)
			unlink(temp);
	}
	free(temp);
	if (err)
		fprintf(stderr, "dat_info: %s: %s%s\n", opts->output, strerror(err),
			err == EEXIST ? " (--force replaces it)" : "");
	return err != 0;
}

static void plan_json(const struct plan *plan, const char *output)
{
	size_t i;
	int api;

	json_object(NULL);
	json_text("file", output);
	json_array("entries");
	for (i = 0; i < plan->num; i++) {
		const struct line *l = &plan->lines[i];

		json_object(NULL);
		json_text("name", l->name);
		json_text("fabric", l->fabric);
		json_text("domain", l->domain);
		json_text("device", l->device);
		json_text("address", l->address);
		json_array("apis");
		for (api = 0; api < INFO_APIS; api++)
			if (l->opens[api])
				json_text(NULL, info_api[api].version);
		json_end();
		json_end();
	}
	json_end();
	json_end();
}

int info_generate(const struct info_options *opts)
{
	struct plan plan = { NULL, 0 };
	int status = 0;
	size_t i;

	/* Checked early for a quick message, and again when the file is created. */
	if (opts->output && !opts->force && !access(opts->output, F_OK)) {
		fprintf(stderr, "dat_info: %s: %s (--force replaces it)\n", opts->output,
			strerror(EEXIST));
		return 1;
	}
	plan_build(&plan, opts);
	if (!plan.num) {
		fprintf(stderr, "dat_info: no fabric can be used; dat_info -d ofi shows why\n");
		status = 1;
	}
	if (plan.num && opts->output)
		status = plan_write_file(opts, &plan);
	if (opts->json)
		plan_json(&plan, opts->output && !status ? opts->output : NULL);
	else if (plan.num && !opts->output)
		plan_write(stdout, &plan);
	for (i = 0; i < plan.num; i++)
		line_free(&plan.lines[i]);
	free(plan.lines);
	return status;
}
