/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains a failed open to the user; DAT_DBG_TYPE. */
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
#include "registry.h"
#include "static.h"

#define MAX_LINES 10
#define MAX_BAD_LINES 2
#define MAX_NEAR 4
#define MAX_SEEN 32
#define MAX_KEPT 7
#define TRY "try: "
/* A process that can open fewer files has none left for an IA: ours takes 13 and libraries. */
#define FEW_FILES 24

#define DEST_STREAM 1u		/* the original's standard output; ours is never written to */
#define DEST_SYSLOG 2u

/* At most MAX_LINES lines that are printed as one. */
struct paragraph {
	unsigned int lines;
	size_t len;
	char text[MAX_LINES * (DATI_NOTE_SIZE + 64)];
};

static unsigned int dbg_type = DATI_DBG_ERROR;
static unsigned int dbg_dest = DEST_STREAM;

static pthread_mutex_t diag_lock = PTHREAD_MUTEX_INITIALIZER;
static bool probing;
static bool succeeded;
static unsigned long seen[MAX_SEEN];	/* hashes of the failures that were reported */
static unsigned int num_seen;
static struct paragraph first_kept;
static char kept[MAX_KEPT][DATI_NOTE_SIZE];
static unsigned int num_kept;

/* The attempt of each thread. Thread-local variables would leave a trace when we are unloaded. */
static pthread_key_t current;
static bool has_current;

static unsigned int setting(const char *name, unsigned int fallback)
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
	dbg_type = setting("DAT_DBG_TYPE", DATI_DBG_ERROR);
	dbg_dest = setting("DAT_DBG_DEST", DEST_STREAM);
	has_current = !pthread_key_create(&current, NULL);
}

static void emit(const char *text)
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
	char text[DATI_NOTE_SIZE + 64], line[DATI_NOTE_SIZE + 96];
	va_list args;

	if (!(dbg_type & type))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), DATI_LIB ": %s\n", text);
	emit(line);
}

/* Text of files, loaders and providers ends up on a terminal: no control characters. */
static void clean(char *text)
{
	size_t len = strlen(text), i;

	for (i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = ' ';
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
}

__attribute__((format(printf, 2, 3)))
static void add_line(struct paragraph *p, const char *format, ...)
{
	char line[DATI_NOTE_SIZE + 56];
	va_list args;

	if (p->lines == MAX_LINES)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	clean(line);
	p->lines++;
	p->len += (size_t)snprintf(p->text + p->len, sizeof(p->text) - p->len, "%s%s\n",
				   p->lines > 1 ? "  " : DATI_LIB ": ", line);
}

void dati_diag_begin(struct dati_attempt *attempt, const DAT_PROVIDER_INFO *key)
{
	attempt->key = key;
	attempt->last_resort_tried = false;
	attempt->num = 0;
	attempt->lost = 0;
	attempt->remedy[0] = '\0';
	attempt->outer = has_current ? pthread_getspecific(current) : NULL;
	if (has_current)
		pthread_setspecific(current, attempt);
}

void dati_diag_note(struct dati_attempt *attempt, const char *format, ...)
{
	va_list args;

	if (!attempt)
		return;
	if (attempt->num == DATI_NOTES) {
		attempt->lost++;
		return;
	}
	va_start(args, format);
	vsnprintf(attempt->note[attempt->num++], DATI_NOTE_SIZE, format, args);
	va_end(args);
}

void dati_diag_remedy(struct dati_attempt *attempt, const char *format, ...)
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
	struct dati_attempt *attempt = has_current ? pthread_getspecific(current) : NULL;
	const char *end;

	for (; text && *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (!strncmp(text, TRY, strlen(TRY)))
			dati_diag_remedy(attempt, "%.*s",
					 (int)(end - text - (ptrdiff_t)strlen(TRY)),
					 text + strlen(TRY));
		else if (end != text)
			dati_diag_note(attempt, "provider: %.*s", (int)(end - text), text);
	}
}

static void add_source(struct paragraph *p)
{
	const struct dati_source *source = dati_static_source();
	const char *by = source->override ? " (DAT_OVERRIDE)" : "";
	size_t good = source->conf.num_entries, bad = source->conf.num_bad;

	if (source->err)
		add_line(p, "registry file %s%s: %s", source->path ? source->path : "", by,
			 dati_conf_error(source->err));
	else
		add_line(p, "registry file %s%s: %zu %s, %zu bad %s", source->path, by, good,
			 good == 1 ? "entry" : "entries", bad, bad == 1 ? "line" : "lines");
}

/* The name may have swallowed the rest of its line for want of a closing quote. */
static bool is_meant(const struct dati_conf_bad *bad, const char *name)
{
	size_t len = strlen(name);

	return bad->name && bad->reason && !strncmp(bad->name, name, len) &&
	       strchr(" \t", bad->name[len]);
}

/* Bad lines that were meant for this name; the number of the first one, or 0. */
static unsigned int add_bad_lines(struct paragraph *p, const char *name)
{
	const struct dati_conf *conf = &dati_static_source()->conf;
	unsigned int found = 0, first = 0;
	size_t i;

	for (i = 0; i < conf->num_bad_kept && found < MAX_BAD_LINES; i++) {
		if (!is_meant(&conf->bad[i], name))
			continue;
		add_line(p, "%s", conf->bad[i].reason);
		if (!found++)
			first = conf->bad[i].line;
	}
	return first;
}

/* One name begins with the other. */
static bool is_longer(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	return la > 2 && lb > 2 && !strncmp(a, b, la < lb ? la : lb);
}

/* Few edits apart. */
static bool is_near(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), i, j;
	unsigned int row[DAT_NAME_MAX_LENGTH + 1], diagonal, above, best;

	if (!la || !lb)
		return false;
	if ((la > lb ? la - lb : lb - la) > 2)
		return false;
	for (j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = (unsigned int)i;
		for (j = 1; j <= lb; j++) {
			above = row[j];
			best = diagonal + (tolower((unsigned char)a[i - 1]) !=
					   tolower((unsigned char)b[j - 1]));
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	/* Of a short name nothing may be left. */
	return row[lb] <= 2 && row[lb] < (la < lb ? la : lb);
}

static bool is_same(const char *a, const char *b)
{
	return !strcmp(a, b);
}

static bool is_any(const char *a, const char *b)
{
	(void)a;
	(void)b;
	return true;
}

/* The name that works wherever any does. */
static bool is_best(const char *a, const char *b)
{
	(void)b;
	return !strcmp(a, "ofi");
}

/* Adds the entries that are related to the key to a list, of names or of versions. */
static void list_entries(const DAT_PROVIDER_INFO *key, bool (*related)(const char *, const char *),
			 bool versions, char list[DATI_NOTE_SIZE])
{
	char item[DAT_NAME_MAX_LENGTH + 48];
	const struct dati_static *st;
	unsigned int count = 0;

	pthread_mutex_lock(&dati_lock);
	for (st = dati_static_all(); st && count < MAX_NEAR; st = st->next) {
		const DAT_PROVIDER_INFO *info = &st->info;

		if (st->transient || dati_key_equal(info, key) ||
		    !strcmp(info->ia_name, DATI_CATCH_ALL) ||
		    versions != is_same(info->ia_name, key->ia_name) ||
		    !related(info->ia_name, key->ia_name))
			continue;
		if (versions)
			snprintf(item, sizeof(item), "%u.%u %s", info->dapl_version_major,
				 info->dapl_version_minor,
				 info->is_thread_safe ? "threadsafe" : "nonthreadsafe");
		else
			snprintf(item, sizeof(item), "\"%s\"", info->ia_name);
		if (strstr(list, item) || strlen(list) + strlen(item) + 40 > DATI_NOTE_SIZE)
			continue;
		if (*list)
			strcat(list, ", ");
		strcat(list, item);
		count++;
	}
	pthread_mutex_unlock(&dati_lock);
}

/* What the consumer's line would have to look like. */
static void advise_line(const DAT_PROVIDER_INFO *key, bool other_threads,
			struct dati_attempt *attempt)
{
	const struct dati_source *source = dati_static_source();
	const char *path = source->path ? source->path : "dat.conf";
	const char *threads = key->is_thread_safe ? "threadsafe" : "nonthreadsafe";

	if (other_threads)
		dati_diag_remedy(attempt, "another line for it in %.100s with %s as third word",
				 path, threads);
	else
		dati_diag_remedy(attempt, "another line for it in %.90s: %.40s u%u.%u %s default "
				 DATI_OWN_PROVIDER " ...", path, key->ia_name,
				 key->dapl_version_major, key->dapl_version_minor, threads);
}

/* Is there an entry that differs in the thread-safety only? */
static bool has_other_threads(const DAT_PROVIDER_INFO *key)
{
	DAT_PROVIDER_INFO other = *key;
	bool found;

	other.is_thread_safe = !key->is_thread_safe;
	pthread_mutex_lock(&dati_lock);
	found = dati_static_find(&other) != NULL;
	pthread_mutex_unlock(&dati_lock);
	return found;
}

/* The same name under another version or thread-safety, and names that look alike; without
 * either some names that exist. */
static void add_relatives(struct paragraph *p, const DAT_PROVIDER_INFO *key,
			  struct dati_attempt *attempt)
{
	char same[DATI_NOTE_SIZE] = "", near[DATI_NOTE_SIZE] = "", any[DATI_NOTE_SIZE] = "";

	list_entries(key, is_same, true, same);
	/* The first one is suggested. */
	list_entries(key, is_near, false, near);
	list_entries(key, is_longer, false, near);
	/* A file of the system may begin with dead hardware. */
	list_entries(key, is_best, false, any);
	list_entries(key, is_any, false, any);
	if (*same)
		add_line(p, "the registry has this name as %s", same);
	if (*near)
		add_line(p, "near names: %s", near);
	else if (!*same && *any)
		add_line(p, "known names: %s", any);
	if (*same)
		advise_line(key, has_other_threads(key), attempt);
	else if (*near)
		dati_diag_remedy(attempt, "%.*s instead of \"%.60s\"; dat_info -l lists all names",
				 (int)strcspn(near, ","), near, key->ia_name);
	else
		dati_diag_remedy(attempt, "one of the known names; dat_info -l lists all");
}

static void add_notes(struct paragraph *p, const struct dati_attempt *attempt, unsigned int room)
{
	unsigned int total = attempt->num + attempt->lost, i;

	for (i = 0; i < attempt->num && i < room; i++) {
		if (i + 1 == room && total > room) {
			add_line(p, "(%u more reasons)", total - i);
			return;
		}
		add_line(p, "%s", attempt->note[i]);
	}
}

/* How many more files this process can open, at most FEW_FILES. */
static unsigned int files_left(void)
{
	int fd[FEW_FILES];
	unsigned int n = 0, i;

	while (n < FEW_FILES && (fd[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	for (i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

/* The last line. What a user wrote wrongly comes before what follows from it. */
static void add_remedy(struct paragraph *p, struct dati_attempt *attempt, unsigned int bad_line,
		       bool few_files)
{
	const struct dati_source *source = dati_static_source();

	if (bad_line)
		add_line(p, TRY "correct %s:%u to: NAME u%u.%u nonthreadsafe default LIBRARY "
			 "dapl.%u.%u \"IA PARAMETERS\" \"\"", source->path, bad_line,
			 DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_VERSION_MAJOR,
			 DAT_VERSION_MINOR);
	else if (few_files)
		add_line(p, TRY "a higher limit of open files (ulimit -n)");
	else if (source->override && source->err)
		add_line(p, TRY "unset DAT_OVERRIDE, or let it name a registry file");
	else if (attempt->remedy[0])
		add_line(p, TRY "%s", attempt->remedy);
	else
		add_line(p, TRY "dat_info -d %.80s; DAPL_OFI_LOG=4 tells everything",
			 attempt->key->ia_name);
}

static void add_files(struct paragraph *p, unsigned int left)
{
	struct rlimit limit = { .rlim_cur = 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	add_line(p, "this process can open %u more files; its limit is %llu", left,
		 (unsigned long long)limit.rlim_cur);
}

/* The tail is composed first, so that the reasons fill what it leaves. */
static void compose(struct paragraph *p, struct dati_attempt *attempt, DAT_RETURN ret)
{
	const DAT_PROVIDER_INFO *key = attempt->key;
	bool missing = !attempt->num && ret == DATI_NOT_REGISTERED;
	struct paragraph tail = { .lines = 1 };
	unsigned int bad_line = add_bad_lines(&tail, key->ia_name), files = files_left();

	if (missing)
		add_relatives(&tail, key, attempt);
	if (files < FEW_FILES)
		add_files(&tail, files);
	add_remedy(&tail, attempt, bad_line, files < FEW_FILES);
	add_line(p, "cannot open IA " DATI_KEY_FORMAT ": %s %s", DATI_KEY_ARGS(key),
		 dati_type_name(ret), dati_subtype_name(ret));
	add_source(p);
	if (missing)
		add_line(p, "no entry has this name, version and thread-safety");
	add_notes(p, attempt, MAX_LINES - p->lines - (tail.lines - 1));
	p->lines += tail.lines - 1;
	memcpy(p->text + p->len, tail.text, tail.len + 1);
	p->len += tail.len;
}

static bool is_new(const struct paragraph *p)
{
	unsigned long hash = 5381;
	unsigned int i;
	size_t n;

	for (n = 0; n < p->len; n++)
		hash = hash * 33 + (unsigned char)p->text[n];
	for (i = 0; i < num_seen; i++)
		if (seen[i] == hash)
			return false;
	if (num_seen == MAX_SEEN)
		return false;
	seen[num_seen++] = hash;
	return true;
}

static void keep(const struct paragraph *p, const struct dati_attempt *attempt)
{
	if (!num_kept)
		first_kept = *p;
	if (num_kept < MAX_KEPT) {
		snprintf(kept[num_kept], sizeof(kept[0]), "\"%.80s\": %s", attempt->key->ia_name,
			 attempt->num ? attempt->note[attempt->num - 1] : "not registered");
		clean(kept[num_kept]);
	}
	num_kept++;
}

void dati_diag_probing(void)
{
	pthread_mutex_lock(&diag_lock);
	probing = true;
	pthread_mutex_unlock(&diag_lock);
}

void dati_diag_end(struct dati_attempt *attempt, DAT_RETURN ret)
{
	struct paragraph p = { .lines = 0 };
	bool print = false, fresh;

	if (has_current)
		pthread_setspecific(current, attempt->outer);
	if (ret != DAT_SUCCESS && (dbg_type & DATI_DBG_ERROR))
		compose(&p, attempt, ret);
	pthread_mutex_lock(&diag_lock);
	fresh = p.lines && is_new(&p);
	if (ret == DAT_SUCCESS)
		succeeded = true;
	else if (fresh && !probing)
		print = true;
	else if (fresh && !succeeded)
		keep(&p, attempt);
	pthread_mutex_unlock(&diag_lock);
	if (print)
		emit(p.text);
}

/* What a probing program never learnt: none of the entries works. */
void dati_diag_tell_kept(void)
{
	struct paragraph p = { .lines = 0 };
	unsigned int i;

	if (!num_kept || succeeded)
		return;
	if (num_kept == 1) {
		emit(first_kept.text);
		return;
	}
	add_line(&p, "%u attempts to open an IA failed and none succeeded", num_kept);
	for (i = 0; i < num_kept && i < MAX_KEPT; i++)
		add_line(&p, "%s", kept[i]);
	if (num_kept > MAX_KEPT)
		add_line(&p, "(%u more)", num_kept - MAX_KEPT);
	add_line(&p, TRY "dat_info -l tells which entries open, and why not");
	emit(p.text);
}

void dati_diag_stop(void)
{
	if (has_current)
		pthread_key_delete(current);
	has_current = false;
}
