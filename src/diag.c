/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects and prints the reasons of a failed open; logs as DAT_DBG_TYPE selects. */
#include "config.h"

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include "diag.h"
#include "key.h"
#include "lock.h"
#include "static.h"

#define MAX_LINES 10
#define MAX_BAD_LINES 2
#define MAX_SIMILAR 4
#define MAX_REPORTED 32
#define MAX_DEFERRED 7
#define TRY "try: "
/*
 * Free descriptors below which an open may have failed for want of them. While it lasts, an open
 * takes up to 21 with libfabric 1.17 (rxm) and up to 30 with 2.1 (tcp).
 */
#define FEW_FILES 40

#define DEST_STREAM 1u /* stdout in the original DAT; stderr here */
#define DEST_SYSLOG 2u

/* Up to MAX_LINES lines, printed with one call. */
struct paragraph {
	unsigned int lines;
	size_t len;
	char text[MAX_LINES * (DATI_REASON_SIZE + 64)];
};

static unsigned int dbg_type = DATI_DBG_ERROR;
static unsigned int dbg_dest = DEST_STREAM;

static bool probing;
static bool succeeded;
static unsigned long reported[MAX_REPORTED]; /* hashes of the failures that were reported */
static unsigned int num_reported;
static struct paragraph first_deferred;
static char deferred[MAX_DEFERRED][DATI_REASON_SIZE];
static unsigned int num_deferred;

/*
 * The current attempt of each thread. A pthread key, since thread-local variables would outlive
 * the unloading of this library.
 */
static pthread_key_t attempt_key;
static bool has_attempt_key;

static unsigned int env_mask(const char *name, unsigned int fallback)
{
	const char *value = secure_getenv(name);
	char *end;
	unsigned long number;

	if (!value || !*value)
		return fallback;
	number = strtoul(value, &end, 0);
	return *end ? fallback : (unsigned int)number;
}

void dati_diag_start(void)
{
	dbg_type = env_mask("DAT_DBG_TYPE", DATI_DBG_ERROR);
	dbg_dest = env_mask("DAT_DBG_DEST", DEST_STREAM);
	has_attempt_key = !pthread_key_create(&attempt_key, NULL);
}

static void diag_print(const char *text)
{
	const char *at, *newline;

	if (dbg_dest & DEST_STREAM)
		fputs(text, stderr);
	if (!(dbg_dest & DEST_SYSLOG))
		return;
	for (at = text; (newline = strchr(at, '\n')); at = newline + 1)
		syslog(LOG_USER | LOG_ERR, "%.*s", (int)(newline - at), at);
}

void dati_log(unsigned int type, const char *format, ...)
{
	char text[DATI_REASON_SIZE + 64], line[DATI_REASON_SIZE + 96];
	va_list args;

	if (!(dbg_type & type))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), DATI_LIB ": %s\n", text);
	diag_print(line);
}

/* Replaces control characters: text of files, of the loader and of providers goes to a terminal. */
static void sanitize(char *text)
{
	size_t len = strlen(text), i;

	for (i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = ' ';
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
}

__attribute__((format(printf, 2, 3))) static void para_add_line(struct paragraph *p,
								const char *format, ...)
{
	char line[DATI_REASON_SIZE + 56];
	va_list args;

	if (p->lines == MAX_LINES)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	sanitize(line);
	p->lines++;
	p->len += (size_t)snprintf(p->text + p->len, sizeof(p->text) - p->len, "%s%s\n",
				   p->lines > 1 ? "  " : DATI_LIB ": ", line);
}

void dati_diag_begin(struct dati_attempt *attempt, const DAT_PROVIDER_INFO *key)
{
	attempt->key = key;
	attempt->last_resort_tried = false;
	attempt->no_memory = false;
	attempt->num = 0;
	attempt->lost = 0;
	attempt->remedy[0] = '\0';
	attempt->outer = has_attempt_key ? pthread_getspecific(attempt_key) : NULL;
	if (has_attempt_key)
		pthread_setspecific(attempt_key, attempt);
}

void dati_diag_add_reason(struct dati_attempt *attempt, const char *format, ...)
{
	va_list args;

	if (!attempt)
		return;
	if (attempt->num == DATI_MAX_REASONS) {
		attempt->lost++;
		return;
	}
	va_start(args, format);
	vsnprintf(attempt->reason[attempt->num++], DATI_REASON_SIZE, format, args);
	va_end(args);
}

void dati_diag_set_remedy(struct dati_attempt *attempt, const char *format, ...)
{
	va_list args;

	if (!attempt || attempt->remedy[0])
		return;
	va_start(args, format);
	vsnprintf(attempt->remedy, sizeof(attempt->remedy), format, args);
	va_end(args);
}

void dati_diag_collect(const char *text)
{
	struct dati_attempt *attempt = has_attempt_key ? pthread_getspecific(attempt_key) : NULL;
	const char *end;

	for (; text && *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (!strncmp(text, TRY, strlen(TRY)))
			dati_diag_set_remedy(attempt, "%.*s",
					     (int)(end - text - (ptrdiff_t)strlen(TRY)),
					     text + strlen(TRY));
		else if (end != text)
			dati_diag_add_reason(attempt, "provider: %.*s", (int)(end - text), text);
	}
}

static void para_add_registry(struct paragraph *p)
{
	const struct dati_source *source = dati_static_source();
	const char *by = source->override ? " (DAT_OVERRIDE)" : "";
	size_t good = source->conf.num_entries, bad = source->conf.num_bad;

	if (source->err)
		para_add_line(p, "registry file %s%s: %s", source->path ? source->path : "", by,
			      dati_conf_error(source->err));
	else
		para_add_line(p, "registry file %s%s: %zu %s, %zu bad %s", source->path, by, good,
			      good == 1 ? "entry" : "entries", bad, bad == 1 ? "line" : "lines");
}

/* Without its closing quote, the name field holds the rest of the line. */
static bool bad_line_matches(const struct dati_conf_bad *bad, const char *name)
{
	size_t len = strlen(name);

	return bad->name && bad->reason && !strncmp(bad->name, name, len) &&
	       strchr(" \t", bad->name[len]);
}

/* Adds the bad lines of this name; returns the line number of the first one, or 0. */
static unsigned int para_add_bad_lines(struct paragraph *p, const char *name)
{
	const struct dati_conf *conf = &dati_static_source()->conf;
	unsigned int found = 0, first = 0;
	size_t i;

	for (i = 0; i < conf->num_bad_kept && found < MAX_BAD_LINES; i++) {
		if (!bad_line_matches(&conf->bad[i], name))
			continue;
		para_add_line(p, "%s", conf->bad[i].reason);
		if (!found++)
			first = conf->bad[i].line;
	}
	return first;
}

/* True if one name is a prefix of the other. */
static bool names_share_prefix(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	return la > 2 && lb > 2 && !strncmp(a, b, la < lb ? la : lb);
}

/* True if the edit distance is at most 2. */
static bool names_are_similar(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), i, j;
	unsigned int distance[DAT_NAME_MAX_LENGTH + 1], diagonal, above, best;

	if (!la || !lb)
		return false;
	if ((la > lb ? la - lb : lb - la) > 2)
		return false;
	for (j = 0; j <= lb; j++)
		distance[j] = (unsigned int)j;
	for (i = 1; i <= la; i++) {
		diagonal = distance[0];
		distance[0] = (unsigned int)i;
		for (j = 1; j <= lb; j++) {
			above = distance[j];
			best = diagonal + (tolower((unsigned char)a[i - 1]) !=
					   tolower((unsigned char)b[j - 1]));
			if (above + 1 < best)
				best = above + 1;
			if (distance[j - 1] + 1 < best)
				best = distance[j - 1] + 1;
			distance[j] = best;
			diagonal = above;
		}
	}
	/* A short name must keep at least one character. */
	return distance[lb] <= 2 && distance[lb] < (la < lb ? la : lb);
}

static bool names_are_equal(const char *a, const char *b)
{
	return !strcmp(a, b);
}

static bool names_match_any(const char *a, const char *b)
{
	(void)a;
	(void)b;
	return true;
}

/* "ofi" opens wherever any adapter does. */
static bool name_is_default(const char *a, const char *b)
{
	(void)b;
	return !strcmp(a, "ofi");
}

/* Appends the entries related to the key to a list of names, or of versions. */
static void list_related_entries(const DAT_PROVIDER_INFO *key,
				 bool (*related)(const char *, const char *), bool versions,
				 char list[DATI_REASON_SIZE])
{
	char item[DAT_NAME_MAX_LENGTH + 48];
	const struct dati_static *st;
	unsigned int count = 0;

	pthread_mutex_lock(&dati_lock);
	for (st = dati_static_all(); st && count < MAX_SIMILAR; st = st->next) {
		const DAT_PROVIDER_INFO *info = &st->info;

		if (st->transient || dati_key_equal(info, key) ||
		    !strcmp(info->ia_name, DATI_CATCH_ALL) ||
		    versions != names_are_equal(info->ia_name, key->ia_name) ||
		    !related(info->ia_name, key->ia_name))
			continue;
		if (versions)
			snprintf(item, sizeof(item), "%u.%u %s", info->dapl_version_major,
				 info->dapl_version_minor,
				 info->is_thread_safe ? "threadsafe" : "nonthreadsafe");
		else
			snprintf(item, sizeof(item), "\"%s\"", info->ia_name);
		if (strstr(list, item) || strlen(list) + strlen(item) + 40 > DATI_REASON_SIZE)
			continue;
		if (*list)
			strcat(list, ", ");
		strcat(list, item);
		count++;
	}
	pthread_mutex_unlock(&dati_lock);
}

/* Suggests the line to add to dat.conf. */
static void suggest_conf_line(const DAT_PROVIDER_INFO *key, bool other_threads,
			      struct dati_attempt *attempt)
{
	const struct dati_source *source = dati_static_source();
	const char *path = source->path ? source->path : "dat.conf";
	const char *threads = key->is_thread_safe ? "threadsafe" : "nonthreadsafe";

	if (other_threads)
		dati_diag_set_remedy(attempt,
				     "add a line for it to %.100s with %s as its third field", path,
				     threads);
	else
		dati_diag_set_remedy(
			attempt,
			"add a line for it to %.90s: %.40s u%u.%u %s default " DATI_OWN_PROVIDER
			" ...",
			path, key->ia_name, key->dapl_version_major, key->dapl_version_minor,
			threads);
}

/* True if an entry differs in its thread-safety only. */
static bool has_other_thread_safety(const DAT_PROVIDER_INFO *key)
{
	DAT_PROVIDER_INFO other = *key;
	bool found;

	other.is_thread_safe = !key->is_thread_safe;
	pthread_mutex_lock(&dati_lock);
	found = dati_static_find(&other) != NULL;
	pthread_mutex_unlock(&dati_lock);
	return found;
}

/*
 * Adds the same name with another version or thread-safety, and similar names; if there are none,
 * some of the existing names.
 */
static void para_add_related(struct paragraph *p, const DAT_PROVIDER_INFO *key,
			     struct dati_attempt *attempt)
{
	char same[DATI_REASON_SIZE] = "", similar[DATI_REASON_SIZE] = "",
	     any[DATI_REASON_SIZE] = "";

	list_related_entries(key, names_are_equal, true, same);
	/* The remedy suggests the first one. */
	list_related_entries(key, names_are_similar, false, similar);
	list_related_entries(key, names_share_prefix, false, similar);
	/* The first entries of a system-wide file may name absent hardware. */
	list_related_entries(key, name_is_default, false, any);
	list_related_entries(key, names_match_any, false, any);
	if (*same)
		para_add_line(p, "the registry has this name as %s", same);
	if (*similar)
		para_add_line(p, "similar names: %s", similar);
	else if (!*same && *any)
		para_add_line(p, "known names: %s", any);
	if (*same)
		suggest_conf_line(key, has_other_thread_safety(key), attempt);
	else if (*similar)
		dati_diag_set_remedy(attempt,
				     "%.*s instead of \"%.60s\"; dat_info -l lists all names",
				     (int)strcspn(similar, ","), similar, key->ia_name);
	else
		dati_diag_set_remedy(attempt, "use one of the known names; dat_info -l lists all");
}

static void para_add_reasons(struct paragraph *p, const struct dati_attempt *attempt,
			     unsigned int max_lines)
{
	unsigned int total = attempt->num + attempt->lost, i;

	for (i = 0; i < attempt->num && i < max_lines; i++) {
		if (i + 1 == max_lines && total > max_lines) {
			para_add_line(p, "(%u more reasons)", total - i);
			return;
		}
		para_add_line(p, "%s", attempt->reason[i]);
	}
}

/* The number of files that this process can still open, at most FEW_FILES. */
static unsigned int count_free_files(void)
{
	int fd[FEW_FILES];
	unsigned int n = 0, i;

	while (n < FEW_FILES && (fd[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	for (i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

/* Adds the last line. An error in the configuration takes precedence over its consequences. */
static void para_add_remedy(struct paragraph *p, struct dati_attempt *attempt,
			    unsigned int bad_line, bool few_files)
{
	const struct dati_source *source = dati_static_source();

	if (bad_line)
		para_add_line(p,
			      TRY "correct %s:%u to: NAME u%u.%u nonthreadsafe default LIBRARY "
				  "dapl.%u.%u \"IA PARAMETERS\" \"\"",
			      source->path, bad_line, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			      DAT_VERSION_MAJOR, DAT_VERSION_MINOR);
	else if (few_files)
		para_add_line(p, TRY "raise the limit of open files (ulimit -n)");
	else if (source->override && source->err)
		para_add_line(p, TRY "unset DAT_OVERRIDE or set it to a registry file");
	else if (attempt->remedy[0])
		para_add_line(p, TRY "%s", attempt->remedy);
	else
		para_add_line(p, TRY "dat_info -d %.80s; DAPL_OFI_LOG=4 logs everything",
			      attempt->key->ia_name);
}

static void para_add_file_limit(struct paragraph *p, unsigned int left)
{
	struct rlimit limit = { .rlim_cur = 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	para_add_line(p, "this process can open %u more files; its limit is %llu", left,
		      (unsigned long long)limit.rlim_cur);
}

/* Composes the tail first; the reasons fill the remaining lines. */
static void para_compose(struct paragraph *p, struct dati_attempt *attempt, DAT_RETURN ret)
{
	const DAT_PROVIDER_INFO *key = attempt->key;
	bool missing = !attempt->num && ret == DATI_NOT_REGISTERED;
	struct paragraph tail = { .lines = 1 };
	unsigned int bad_line = para_add_bad_lines(&tail, key->ia_name), files = count_free_files();

	if (missing)
		para_add_related(&tail, key, attempt);
	if (files < FEW_FILES)
		para_add_file_limit(&tail, files);
	para_add_remedy(&tail, attempt, bad_line, files < FEW_FILES);
	para_add_line(p, "cannot open IA " DATI_KEY_FORMAT ": %s %s", DATI_KEY_ARGS(key),
		      dati_type_name(ret), dati_subtype_name(ret));
	para_add_registry(p);
	if (missing)
		para_add_line(p, "no entry has this name, version and thread-safety");
	para_add_reasons(p, attempt, MAX_LINES - p->lines - (tail.lines - 1));
	p->lines += tail.lines - 1;
	memcpy(p->text + p->len, tail.text, tail.len + 1);
	p->len += tail.len;
}

static bool para_is_new(const struct paragraph *p)
{
	unsigned long hash = 5381;
	unsigned int i;
	size_t n;

	for (n = 0; n < p->len; n++)
		hash = hash * 33 + (unsigned char)p->text[n];
	for (i = 0; i < num_reported; i++)
		if (reported[i] == hash)
			return false;
	if (num_reported == MAX_REPORTED)
		return false;
	reported[num_reported++] = hash;
	return true;
}

static void diag_defer(const struct paragraph *p, const struct dati_attempt *attempt)
{
	if (!num_deferred)
		first_deferred = *p;
	if (num_deferred < MAX_DEFERRED) {
		snprintf(deferred[num_deferred], sizeof(deferred[0]), "\"%.80s\": %s",
			 attempt->key->ia_name,
			 attempt->num ? attempt->reason[attempt->num - 1] : "not registered");
		sanitize(deferred[num_deferred]);
	}
	num_deferred++;
}

void dati_diag_probing(void)
{
	pthread_mutex_lock(&dati_diag_lock);
	probing = true;
	pthread_mutex_unlock(&dati_diag_lock);
}

void dati_diag_drop(struct dati_attempt *attempt)
{
	if (has_attempt_key)
		pthread_setspecific(attempt_key, attempt->outer);
}

void dati_diag_end(struct dati_attempt *attempt, DAT_RETURN ret)
{
	struct paragraph p = { .lines = 0 };
	bool print = false, fresh;

	dati_diag_drop(attempt);
	if (ret != DAT_SUCCESS && (dbg_type & DATI_DBG_ERROR))
		para_compose(&p, attempt, ret);
	pthread_mutex_lock(&dati_diag_lock);
	fresh = p.lines && para_is_new(&p);
	if (ret == DAT_SUCCESS)
		succeeded = true;
	else if (fresh && !probing)
		print = true;
	else if (fresh && !succeeded)
		diag_defer(&p, attempt);
	pthread_mutex_unlock(&dati_diag_lock);
	if (print)
		diag_print(p.text);
}

/* Reports deferred failures if no open succeeded. */
void dati_diag_report_deferred(void)
{
	struct paragraph p = { .lines = 0 };
	unsigned int i;

	if (!num_deferred || succeeded)
		return;
	if (num_deferred == 1) {
		diag_print(first_deferred.text);
		return;
	}
	para_add_line(&p, "%u attempts to open an IA failed and none succeeded", num_deferred);
	for (i = 0; i < num_deferred && i < MAX_DEFERRED; i++)
		para_add_line(&p, "%s", deferred[i]);
	if (num_deferred > MAX_DEFERRED)
		para_add_line(&p, "(%u more)", num_deferred - MAX_DEFERRED);
	para_add_line(&p, TRY "dat_info -l shows which entries open and why the others fail");
	diag_print(p.text);
}

void dati_diag_stop(void)
{
	if (has_attempt_key)
		pthread_key_delete(attempt_key);
	has_attempt_key = false;
}
