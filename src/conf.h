/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the contents of a dat.conf file and its parser. */
#ifndef DATI_CONF_H
#define DATI_CONF_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "dati_api.h"

/*
 * The file is not trusted: a line, or the rest of the file, that exceeds these limits is rejected.
 */
#define DATI_CONF_MAX_FILE (1024 * 1024)
#define DATI_CONF_MAX_LINE 4096
#define DATI_CONF_MAX_ENTRIES 1024
#define DATI_CONF_MAX_BAD 64

/* An accepted record: user API, default. */
struct dati_conf_entry {
	unsigned int line;
	DAT_PROVIDER_INFO info;
	char *library;
	char *ia_params;
};

/* A line that was dropped, with the reason as FILE:LINE: expected..., found... */
struct dati_conf_bad {
	unsigned int line;
	char *name; /* the first field, as far as it was parsed */
	char *reason;
};

struct dati_conf {
	bool out_of_memory; /* some entries could not be allocated */
	const char *path;
	struct dati_conf_entry *entries;
	size_t num_entries;
	struct dati_conf_bad *bad; /* the first DATI_CONF_MAX_BAD of them */
	size_t num_bad_kept;
	size_t num_bad;
};

/* 0, or a negative errno when the file cannot be read; `path` must outlive `conf`. */
int dati_conf_read(struct dati_conf *conf, const char *path);
#define DATI_CONF_NOT_REGULAR (-EOPNOTSUPP) /* a FIFO, a socket or a device */
/* The text of a result of dati_conf_read. */
const char *dati_conf_error(int err);
void dati_conf_free(struct dati_conf *conf);

#endif /* DATI_CONF_H */
