/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects and prints the reasons of a failed open; logs as DAT_DBG_TYPE selects. */
#ifndef DATI_DIAG_H
#define DATI_DIAG_H

#include <stdbool.h>

#include "dati_api.h"

/* Bits of DAT_DBG_TYPE. */
#define DATI_DBG_ERROR 0x01u
#define DATI_DBG_STATIC 0x04u
#define DATI_DBG_DYNAMIC 0x08u
#define DATI_DBG_PROVIDER 0x10u
#define DATI_DBG_CONSUMER 0x20u

#define DATI_KEY_FORMAT "\"%s\" (%u.%u, %s)"
#define DATI_KEY_ARGS(k) \
	(k)->ia_name, (k)->dapl_version_major, (k)->dapl_version_minor, \
		(k)->is_thread_safe ? "threadsafe" : "nonthreadsafe"

#define DATI_MAX_REASONS 12
#define DATI_REASON_SIZE 200

/* The reasons collected during one open; lives on the stack of that open. */
struct dati_attempt {
	const DAT_PROVIDER_INFO *key;
	struct dati_attempt *outer; /* an open by a provider inside an open */
	bool last_resort_tried;
	bool no_memory; /* a provider could not register its name for lack of memory */
	unsigned int num;
	unsigned int lost;
	char reason[DATI_MAX_REASONS][DATI_REASON_SIZE];
	char remedy[DATI_REASON_SIZE]; /* remedy for the first reason */
};

void dati_diag_start(void);
void dati_diag_report_deferred(void); /* at exit: the failures deferred while probing */
void dati_diag_stop(void);

/* The program iterates over the registry: single failures are deferred, not printed. */
void dati_diag_probing(void);

void dati_diag_begin(struct dati_attempt *attempt, const DAT_PROVIDER_INFO *key);
void dati_diag_end(struct dati_attempt *attempt, DAT_RETURN ret);
/* Ends one that is not an open: nothing is printed. */
void dati_diag_drop(struct dati_attempt *attempt);

__attribute__((format(printf, 2, 3))) void dati_diag_add_reason(struct dati_attempt *attempt,
								const char *format, ...);

/* Sets the remedy, an imperative; the first one of an attempt is kept. */
__attribute__((format(printf, 2, 3))) void dati_diag_set_remedy(struct dati_attempt *attempt,
								const char *format, ...);

/*
 * Callback for providers: adds reasons to the open that the calling thread is in; a line that
 * begins with "try: " sets the remedy.
 */
void dati_diag_collect(const char *text);

__attribute__((format(printf, 2, 3))) void dati_log(unsigned int type, const char *format, ...);

/* The names of the type and subtype of a return value. */
const char *dati_type_name(DAT_RETURN value);
const char *dati_subtype_name(DAT_RETURN value);

#endif /* DATI_DIAG_H */
