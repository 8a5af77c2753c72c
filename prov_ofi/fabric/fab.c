/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of parameters, statuses of completions, closing of libfabric's objects. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dat_version.h"
#include "base/edit_distance.h"
#include "base/forkfd.h"
#include "fabric/fab_info.h"
#include "fabric/fab_lib.h"
#include "fabric/fab_ops.h"
#include "proto/cm_secret.h"

/* True if the word has the form key=value with a known key. */
static bool fab_is_known_param(const char *word)
{
	return !strncmp(word, "provider=", 9) || !strncmp(word, "domain=", 7);
}

static const char *fab_nearest_key(const char *key)
{
	static const char *const keys[] = { "provider", "domain" };
	unsigned int best = 4, distance;
	const char *nearest = NULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		distance = dofi_edit_distance(key, keys[i]);
		if (distance < best) {
			best = distance;
			nearest = keys[i];
		}
	}
	return nearest;
}

void dofi_fab_unknown_words(const char *params, void (*fn)(const char *word, const char *nearest))
{
	char word[64], key[64];

	for (size_t len; params && *params; params += len) {
		params += strspn(params, " \t");
		len = strcspn(params, " \t");
		if (!memchr(params, '=', len) || fab_is_known_param(params))
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)len, params);
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(word, "="), word);
		fn(word, fab_nearest_key(key));
	}
}

uint8_t dofi_fab_cq_status(const struct fi_cq_err_entry *err)
{
	switch (err->err < 0 ? -err->err : err->err) {
	case FI_ETRUNC:
		return DAT_DTO_ERR_LOCAL_LENGTH;
	case FI_ECANCELED:
	case FI_ENOTCONN:
	case FI_ECONNRESET:
	case FI_ECONNABORTED:
	case FI_ESHUTDOWN:
	case EPIPE:
		return DAT_DTO_ERR_FLUSHED;
	case FI_EACCES:
	case FI_ENOKEY:
		return DAT_DTO_ERR_REMOTE_ACCESS;
	case FI_EINVAL: /* msgep: an atomic operation on a misaligned address */
		return DAT_DTO_ERR_REMOTE_RESPONDER;
	case FI_EFAULT:
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	default:
		return DAT_DTO_ERR_TRANSPORT;
	}
}

void dofi_fab_close(struct dofi_fab *fab)
{
	if (fab->eq) {
		dofi_forkfd_forget(fab->cm_fd);
		fi_close(&fab->eq->fid);
	}
	if (fab->domain)
		fi_close(&fab->domain->fid);
	if (fab->fabric)
		fi_close(&fab->fabric->fid);
	if (fab->info)
		dofi_fab_info_free(fab, fab->info);
	msgep_secret_free(fab->secret);
	free(fab->addrs);
	fab->addrs = NULL;
	fab->n_addrs = 0;
	fab->secret = NULL;
	fab->eq = NULL;
	fab->domain = NULL;
	fab->fabric = NULL;
	fab->info = NULL;
}
