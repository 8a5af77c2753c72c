/* SPDX-License-Identifier: BSD-2-Clause */
/* The static registry: IA names of this system, and the libraries that provide them. */
#ifndef DATI_STATIC_H
#define DATI_STATIC_H

#include <pthread.h>
#include <stdbool.h>

#include "conf.h"
#include "dati_api.h"

/* The name of entries that open whatever has no entry of its own. */
#define DATI_CATCH_ALL "*"

struct dati_attempt;

/* One library that may provide a name; they are tried in order. */
struct dati_way {
	struct dati_way *next;
	char *library;
	char *params;		/* NULL: made from the name when it is loaded */
	unsigned int line;	/* of the registry file; 0: ours */
	bool last_resort;	/* ours behind a legacy name whose own library is of no use */
};

enum dati_state {
	DATI_IDLE,		/* not loaded */
	DATI_BUSY,		/* `worker` loads or unloads it, others wait */
	DATI_LOADED		/* `uses` IAs and extensions keep it */
};

struct dati_static {
	struct dati_static *next;
	DAT_PROVIDER_INFO info;
	struct dati_way *ways;
	bool listed;
	unsigned int rank;	/* of rank.h */
	bool transient;		/* made for a legacy or caught name, gone after its last use */

	/* Guarded by dati_lock; what the worker of a busy entry fills is its own meanwhile. */
	enum dati_state state;
	pthread_t worker;
	unsigned int visitors;	/* threads that hold or wait for it right now */
	unsigned int uses;
	const struct dati_way *way;
	void *library;
	const void *image;
	DAT_PROVIDER_FINI_FUNC fini;
	void (*set_report)(void (*report)(const char *text));
	bool reports;		/* the library was given our collector, or had it */
};

/* Where the names come from. */
struct dati_source {
	char *path;
	bool override;		/* named by DAT_OVERRIDE */
	int err;		/* negative errno when it could not be read */
	struct dati_conf conf;
};

/* False: no memory. Nothing is left behind, and it may be called again. */
bool dati_static_start(void);
const struct dati_source *dati_static_source(void);

/* The rest is called with dati_lock held. */
bool dati_static_stop(void);
struct dati_static *dati_static_first(void);
struct dati_static *dati_static_next(const struct dati_static *st);
struct dati_static *dati_static_all(void);

/* The entry of a key; for a name that is caught by "*" or legacy one is made. */
struct dati_static *dati_static_find(const DAT_PROVIDER_INFO *key);
struct dati_static *dati_static_resolve(const DAT_PROVIDER_INFO *key);
void dati_static_drop(struct dati_static *st);

/* What our own provider is told for a legacy name; writes at most `size` bytes. */
void dati_legacy_params(const char *name, char *params, size_t size);

/* Where a way comes from: FILE:LINE, or what of ours it is. */
void dati_way_origin(const struct dati_static *st, const struct dati_way *way, char *text,
		     size_t size);

#endif /* DATI_STATIC_H */
