/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the providers of libfabric with the attributes that the transports depend on. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics.h"
#include "facts.h"
#include "libfabric.h"
#include "memory.h"
#include "probe.h"
#include "text.h"

#define PROVIDER "provider"

/* Appends "name value". */
static void add_text(char **line, const char *name, const char *value)
{
	char *old = *line;

	*line = info_format("%s%s%s %s", old, *old ? ", " : "", name,
			    value && *value ? value : "none");
	free(old);
}

static void add_number(char **line, const char *name, size_t value)
{
	char text[32] = "unlimited";

	if (value != SIZE_MAX)
		snprintf(text, sizeof(text), "%zu", value);
	add_text(line, name, text);
}

static void put_provider(char *(*tostr)(const void *, enum fi_type), const struct fi_info *info)
{
	const struct fi_domain_attr *domain = info->domain_attr;
	char *line = info_strdup("");
	char *name = info_format("%s, %s", info->fabric_attr->prov_name, domain->name);

	add_text(&line, "endpoint", tostr(&info->ep_attr->type, FI_TYPE_EP_TYPE));
	add_text(&line, "protocol", tostr(&info->ep_attr->protocol, FI_TYPE_PROTOCOL));
	add_text(&line, "addresses", tostr(&info->addr_format, FI_TYPE_ADDR_FORMAT));
	add_text(&line, "caps", tostr(&info->caps, FI_TYPE_CAPS));
	add_text(&line, "mode", tostr(&info->mode, FI_TYPE_MODE));
	add_text(&line, "mr_mode", tostr(&domain->mr_mode, FI_TYPE_MR_MODE));
	add_text(&line, "threading", tostr(&domain->threading, FI_TYPE_THREADING));
	add_text(&line, "control progress", tostr(&domain->control_progress, FI_TYPE_PROGRESS));
	add_text(&line, "data progress", tostr(&domain->data_progress, FI_TYPE_PROGRESS));
	add_text(&line, "av_type", tostr(&domain->av_type, FI_TYPE_AV_TYPE));
	add_text(&line, "send order", tostr(&info->tx_attr->msg_order, FI_TYPE_MSG_ORDER));
	add_text(&line, "receive order", tostr(&info->rx_attr->msg_order, FI_TYPE_MSG_ORDER));
	add_text(&line, "op_flags", tostr(&info->tx_attr->op_flags, FI_TYPE_OP_FLAGS));
	add_number(&line, "mr_key_size", domain->mr_key_size);
	add_number(&line, "cq_data_size", domain->cq_data_size);
	add_number(&line, "max_msg_size", info->ep_attr->max_msg_size);
	add_number(&line, "inject_size", info->tx_attr->inject_size);
	add_number(&line, "tx size", info->tx_attr->size);
	add_number(&line, "rx size", info->rx_attr->size);
	add_number(&line, "tx iov_limit", info->tx_attr->iov_limit);
	add_number(&line, "rx iov_limit", info->rx_attr->iov_limit);
	add_number(&line, "endpoints", domain->ep_cnt);
	info_put_text(PROVIDER, name, line);
	free(name);
	free(line);
}

/* The others are no fabrics of dat-ofi. */
static bool is_used(const char *name)
{
	static const char *const used[] = { "tcp", "tcp;ofi_rxm", "verbs", "verbs;ofi_rxm",
					    "efa", "psm3",        "cxi",   "opx" };

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		if (!strcmp(name, used[i]))
			return true;
	return false;
}

static void put_providers(const void *arg)
{
	struct info_libfabric lib;
	const char *why = info_libfabric_load(&lib);
	struct fi_info *info;

	(void)arg;
	if (!why && lib.ret)
		why = lib.error_text(-lib.ret);
	if (why) {
		info_put_text("", "failed", why);
		return;
	}
	for (info = lib.list; info; info = info->next)
		if (is_used(info->fabric_attr->prov_name))
			put_provider(lib.tostr, info);
}

static bool same_provider(const struct info_fact *a, const struct info_fact *b)
{
	return !strcmp(a->group, PROVIDER) && !strcmp(b->group, PROVIDER) &&
	       !strcmp(a->value, b->value) && strcspn(a->name, ",") == strcspn(b->name, ",") &&
	       !strncmp(a->name, b->name, strcspn(a->name, ","));
}

/* Prints the attributes once for all domains of a provider that have the same ones. */
static void print_provider(const struct info_probe *probe, size_t at)
{
	const struct info_fact *facts = probe->facts;
	const char *shown = NULL;
	size_t i;

	for (i = 0; i < at; i++)
		if (same_provider(&facts[i], &facts[at]))
			return;
	for (i = at; i < probe->num_facts; i++) {
		if (!same_provider(&facts[i], &facts[at]) ||
		    (shown && !strcmp(shown, facts[i].name)))
			continue;
		shown = facts[i].name;
		printf("%s\n", shown);
	}
	text_wrap(printf("  "), 2, "%s", facts[at].value);
}

void info_providers_print(void)
{
	const char *failed;
	struct info_probe probe;
	size_t i;

	info_probe_run(&probe, put_providers, NULL);
	failed = info_probe_fact(&probe, "", "failed");
	if (failed || probe.end)
		printf("no providers: %s\n", failed ? failed : probe.end);
	for (i = 0; i < probe.num_facts; i++)
		if (!strcmp(probe.facts[i].group, PROVIDER))
			print_provider(&probe, i);
	info_probe_free(&probe);
}
