/* SPDX-License-Identifier: BSD-2-Clause */
/* Defines the fabrics of -f: their names and parameters. */
#include <ctype.h>
#include <string.h>

#include "run.h"

/* The table of fabrics: -f NAME, provider parameters, description. */
static const struct {
	const char *name, *params, *about;
} table[] = {
	{ "tcp", "provider=tcp", "TCP sockets" },
	{ "tcp+shm", "provider=tcp+shm", "shared memory on one machine, TCP between machines" },
	{ "shm", "provider=shm", "shared memory, one machine only" },
	{ "rxm", "provider=rxm", "RDM endpoints of libfabric over TCP" },
	{ "rxm+shm", "provider=rxm+shm", "shared memory on one machine, rxm between machines" },
	{ "verbs", "provider=verbs", "InfiniBand, RoCE, iWARP" },
	{ "rxm-verbs", "provider=rxm-verbs", "RDM endpoints of libfabric over InfiniBand, RoCE" },
	{ "efa", "provider=efa", "Elastic Fabric Adapter" },
	{ "psm3", "provider=psm3", "Intel Ethernet, by PSM3" },
	{ "cxi", "provider=cxi", "HPE Slingshot" },
	{ "opx", "provider=opx", "Omni-Path Express" },
};

#define FABRICS (sizeof(table) / sizeof(*table))

const char *run_fabric_about(const char *name)
{
	for (size_t i = 0; i < FABRICS; i++)
		if (!strcmp(table[i].name, name))
			return table[i].about;
	return "";
}

/* Names become folder names; parameters are written between quotes in a line of dat.conf. */
static void fabric_add(struct run_options *opts, const char *name, size_t len, const char *params)
{
	struct run_fabric *fabric = &opts->fabric[opts->fabrics];
	size_t i;

	if (opts->fabrics == RUN_MAX_FABRICS)
		run_usage("more than %d fabrics", RUN_MAX_FABRICS);
	if (!len || len >= sizeof(fabric->name) || name[0] == '.')
		run_usage("\"%.*s\" is not a name of a fabric", (int)len, name);
	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.+-", name[i]))
			run_usage("\"%.*s\" is not a name of a fabric: NAME=PARAMETERS needs an -f "
				  "of its own",
				  (int)len, name);
	memcpy(fabric->name, name, len);
	fabric->name[len] = '\0';
	if (strlen(params) >= sizeof(fabric->params))
		run_usage("the parameters of %s are too long", fabric->name);
	for (i = 0; params[i]; i++)
		if (iscntrl((unsigned char)params[i]))
			run_usage("control character in the parameters of %s", fabric->name);
	strcpy(fabric->params, params);
	for (i = 0; i < opts->fabrics; i++)
		if (!strcmp(opts->fabric[i].name, fabric->name))
			run_usage("fabric %s is named twice", fabric->name);
	opts->fabrics++;
}

void run_fabric_add_all(struct run_options *opts)
{
	for (size_t i = 0; i < FABRICS; i++)
		fabric_add(opts, table[i].name, strlen(table[i].name), table[i].params);
}

static void fabric_add_known(struct run_options *opts, const char *name, size_t len)
{
	char known[256] = "";

	for (size_t i = 0; i < FABRICS; i++) {
		if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len)) {
			fabric_add(opts, name, len, table[i].params);
			return;
		}
		strcat(strcat(known, i ? ", " : ""), table[i].name);
	}
	run_usage("unknown fabric \"%.*s\"; known are %s; others as NAME=PARAMETERS", (int)len,
		  name, known);
}

void run_fabric_add(struct run_options *opts, const char *text)
{
	const char *equals = strchr(text, '=');

	if (equals) {
		fabric_add(opts, text, (size_t)(equals - text), equals + 1);
		return;
	}
	if (!strcmp(text, "list")) {
		opts->list = true;
		return;
	}
	if (!strcmp(text, "all")) {
		run_fabric_add_all(opts);
		return;
	}
	for (;;) {
		size_t len = strcspn(text, ",");

		fabric_add_known(opts, text, len);
		if (!text[len])
			return;
		text += len + 1;
	}
}
