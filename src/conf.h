/* SPDX-License-Identifier: BSD-2-Clause */
/* The contents of a dat.conf file. */
#ifndef DATI_CONF_H
#define DATI_CONF_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "dati_api.h"

/* The file is not trusted: beyond these limits a line, or the rest of the file, is refused. */
#define DATI_CONF_MAX_FILE (1024 * 1024)
#define DATI_CONF_MAX_LINE 4096
#define DATI_CONF_MAX_ENTRIES 1024
#define DATI_CONF_MAX_BAD 64

/* A record that counts: user API, default. */
struct dati_conf_entry {
	unsigned int line;
	DAT_PROVIDER_INFO info;
	char *library;
	char *ia_params;
};

/* A line that was dropped, with the reason as FILE:LINE: expected..., found... */
struct dati_conf_bad {
	unsigned int line;
	char *name;		/* its first field as far as it could be read */
	char *reason;
};

struct dati_conf {
	bool starved;		/* entries are missing: there was no memory for them */
	const char *path;
	struct dati_conf_entry *entries;
	size_t num_entries;
	struct dati_conf_bad *bad;	/* the first DATI_CONF_MAX_BAD of them */
	size_t num_bad_kept;
	size_t num_bad;
};

/* 0, or a negative errno when the file cannot be read; `path` must outlive `conf`. */
int dati_conf_read(struct dati_conf *conf, const char *path);
#define DATI_CONF_NO_FILE (-EOPNOTSUPP)	/* a FIFO, a socket or a device */
/* Words for what it returned. */
const char *dati_conf_error(int err);
void dati_conf_free(struct dati_conf *conf);

#endif /* DATI_CONF_H */
