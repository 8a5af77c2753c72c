/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the static registry: the IA names of this system and the libraries that provide them. */
#ifndef DATI_STATIC_H
#define DATI_STATIC_H

#include <pthread.h>
#include <stdbool.h>

#include "conf.h"
#include "dati_api.h"

/* The name of a catch-all entry, which serves all names without an entry. */
#define DATI_CATCH_ALL "*"

struct dati_attempt;

/* One library that may provide a name; they are tried in order. */
struct dati_candidate {
	struct dati_candidate *next;
	char *library;
	char *params;      /* NULL: derived from the name at load time */
	unsigned int line; /* of the registry file; 0: built-in */
	bool last_resort;  /* our provider for a legacy name, after its own library */
};

enum dati_state {
	DATI_IDLE,   /* not loaded */
	DATI_BUSY,   /* `busy_thread` loads or unloads it, others wait */
	DATI_LOADED, /* `uses` IAs and extensions keep it */
};

struct dati_static {
	struct dati_static *next;
	DAT_PROVIDER_INFO info;
	struct dati_candidate *candidates;
	bool listed;
	unsigned int rank; /* of rank.h */
	bool transient;    /* made for a legacy or caught name, freed after its last use */

	/*
	 * Guarded by dati_lock; while the entry is busy, the fields that `busy_thread` fills
	 * belong to it.
	 */
	enum dati_state state;
	pthread_t busy_thread;
	unsigned int holders; /* threads that hold it or wait for it */
	unsigned int uses;
	const struct dati_candidate *candidate;
	void *library;
	const void *image;
	DAT_PROVIDER_FINI_FUNC fini;
	void (*set_report)(void (*report)(const char *text));
	/* Compares two entries of this library, with any value but success if it cannot. */
	DAT_RETURN(*ha_related)
	(const DAT_PROVIDER_INFO *one, const DAT_PROVIDER_INFO *two, DAT_BOOLEAN *answer);
	bool reports; /* this entry has set our collector */
};

/* The registry file that the names come from. */
struct dati_source {
	char *path;
	bool override; /* named by DAT_OVERRIDE */
	int err;       /* negative errno when it could not be read */
	struct dati_conf conf;
};

/* False if out of memory: everything is undone, and it may be called again. */
bool dati_static_start(void);
const struct dati_source *dati_static_source(void);

/* The functions below are called with dati_lock held. */
bool dati_static_stop(void);
struct dati_static *dati_static_first(void);
struct dati_static *dati_static_next(const struct dati_static *st);
struct dati_static *dati_static_all(void);

/*
 * The entry of a key; `resolve` also makes one for a legacy name or one caught by "*", and `serves`
 * reports whether it would.
 */
struct dati_static *dati_static_find(const DAT_PROVIDER_INFO *key);
bool dati_static_serves(const DAT_PROVIDER_INFO *key);
struct dati_static *dati_static_resolve(const DAT_PROVIDER_INFO *key);
void dati_static_drop(struct dati_static *st);

/* The IA parameters of our own provider for a legacy name; writes at most `size` bytes. */
void dati_legacy_params(const char *name, char *params, size_t size);

/* The origin of a candidate: FILE:LINE, or the built-in entry. */
void dati_candidate_origin(const struct dati_static *st, const struct dati_candidate *candidate,
			   char *text, size_t size);

#endif /* DATI_STATIC_H */
