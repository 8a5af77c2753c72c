/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains a failed open to the user; DAT_DBG_TYPE. */
#ifndef DATI_DIAG_H
#define DATI_DIAG_H

#include <stdbool.h>

#include "dati_api.h"

/* Bits of DAT_DBG_TYPE. */
#define DATI_DBG_ERROR 0x01u
#define DATI_DBG_GENERIC 0x02u
#define DATI_DBG_STATIC 0x04u
#define DATI_DBG_DYNAMIC 0x08u
#define DATI_DBG_PROVIDER 0x10u
#define DATI_DBG_CONSUMER 0x20u

#define DATI_KEY_FORMAT "\"%s\" (%u.%u, %s)"
#define DATI_KEY_ARGS(k) \
	(k)->ia_name, (k)->dapl_version_major, (k)->dapl_version_minor, \
	(k)->is_thread_safe ? "threadsafe" : "nonthreadsafe"

#define DATI_NOTES 12
#define DATI_NOTE_SIZE 200

/* The reasons that gather while one open is tried; lives on the stack of that open. */
struct dati_attempt {
	const DAT_PROVIDER_INFO *key;
	struct dati_attempt *outer;	/* an open by a provider inside an open */
	bool last_resort_tried;
	unsigned int num;
	unsigned int lost;
	char note[DATI_NOTES][DATI_NOTE_SIZE];
	char remedy[DATI_NOTE_SIZE];	/* what to do about the first of them */
};

void dati_diag_start(void);
void dati_diag_tell_kept(void);	/* at the end, what was kept back while probing */
void dati_diag_stop(void);

/* The program walks the registry: single failures are no news. */
void dati_diag_probing(void);

void dati_diag_begin(struct dati_attempt *attempt, const DAT_PROVIDER_INFO *key);
void dati_diag_end(struct dati_attempt *attempt, DAT_RETURN ret);

__attribute__((format(printf, 2, 3)))
void dati_diag_note(struct dati_attempt *attempt, const char *format, ...);

/* What to do, as an imperative; only the first one counts. */
__attribute__((format(printf, 2, 3)))
void dati_diag_remedy(struct dati_attempt *attempt, const char *format, ...);

/* Given to providers: takes reasons of the thread that is inside an open; one that begins with
 * "try: " is a remedy. */
void dati_diag_collect(const char *text);

__attribute__((format(printf, 2, 3)))
void dati_log(unsigned int type, const char *format, ...);

/* The two words of a return value, for messages. */
const char *dati_type_name(DAT_RETURN value);
const char *dati_subtype_name(DAT_RETURN value);

#endif /* DATI_DIAG_H */
