/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses dat.conf, and reports the lines that it drops. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "conf.h"

#define FIELDS 8
#define NULL_MAJOR 1 /* of /dev/null */
#define NULL_MINOR 3

enum token {
	TOKEN_WORD,
	TOKEN_END,        /* of the line, or a comment */
	TOKEN_CR,         /* a carriage return before the newline */
	TOKEN_OPEN_QUOTE, /* the line ends inside a quoted string */
};

struct scan {
	const char *at;
	const char *end;
	char *out; /* words are copied here, unquoted and terminated */
};

struct record {
	unsigned int line;
	const char *field[FIELDS + 1];
	int num_fields;
	enum token last; /* what ended the record */
	bool user_api;
	bool is_default;
	DAT_PROVIDER_INFO info;
};

/* Inside quotes a backslash is removed and makes the next character an ordinary one. */
static enum token scan_quoted(struct scan *s)
{
	for (s->at++; s->at < s->end && *s->at != '"'; s->at++) {
		if (*s->at == '\\' && ++s->at == s->end)
			break;
		*s->out++ = *s->at;
	}
	*s->out++ = '\0';
	if (s->at >= s->end)
		return TOKEN_OPEN_QUOTE;
	s->at++;
	return TOKEN_WORD;
}

/*
 * Outside quotes a backslash is kept and escapes no blank; it only prevents a quote that follows
 * it from opening a string.
 */
static enum token scan_unquoted(struct scan *s)
{
	while (s->at < s->end && *s->at != ' ' && *s->at != '\t' && *s->at != '"') {
		if (*s->at == '\r' && s->at + 1 == s->end)
			break;
		if (*s->at == '\\' && s->at + 1 < s->end && s->at[1] == '"')
			*s->out++ = *s->at++;
		*s->out++ = *s->at++;
	}
	*s->out++ = '\0';
	return TOKEN_WORD;
}

static enum token scan_word(struct scan *s, const char **word)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
	*word = s->out;
	if (s->at == s->end || *s->at == '#')
		return TOKEN_END;
	if (*s->at == '\r' && s->at + 1 == s->end)
		return TOKEN_CR;
	return *s->at == '"' ? scan_quoted(s) : scan_unquoted(s);
}

static const char *scan_number(const char *p, DAT_UINT32 *value)
{
	DAT_UINT32 v = 0;
	int digits;

	for (digits = 0; isdigit((unsigned char)*p) && digits < 6; digits++)
		v = v * 10 + (DAT_UINT32)(*p++ - '0');
	*value = v;
	return digits ? p : NULL;
}

static bool parse_version(const char *p, DAT_UINT32 *major, DAT_UINT32 *minor)
{
	p = scan_number(p, major);
	if (!p || *p != '.')
		return false;
	p = scan_number(p + 1, minor);
	return p && !*p;
}

static bool conf_parse_name(struct record *r, const char *word)
{
	size_t len = strlen(word);

	if (!len || len >= sizeof(r->info.ia_name))
		return false;
	memcpy(r->info.ia_name, word, len + 1);
	return true;
}

static bool conf_parse_api(struct record *r, const char *word)
{
	r->user_api = word[0] == 'u';
	return (word[0] == 'u' || word[0] == 'k') &&
	       parse_version(word + 1, &r->info.dapl_version_major, &r->info.dapl_version_minor);
}

/* Keywords are compared as prefixes; no keyword is a prefix of its opposite. */
static bool has_prefix(const char *word, const char *keyword)
{
	return !strncmp(word, keyword, strlen(keyword));
}

static bool conf_parse_thread_safety(struct record *r, const char *word)
{
	r->info.is_thread_safe = has_prefix(word, "threadsafe") ? DAT_TRUE : DAT_FALSE;
	return r->info.is_thread_safe || has_prefix(word, "nonthreadsafe");
}

static bool conf_parse_default(struct record *r, const char *word)
{
	r->is_default = has_prefix(word, "default");
	return r->is_default || has_prefix(word, "nondefault");
}

/* For an empty name dlopen returns the program itself. */
static bool conf_parse_library(struct record *r, const char *word)
{
	(void)r;
	return *word != '\0';
}

static bool conf_parse_provider(struct record *r, const char *word)
{
	const char *dot = strchr(word, '.');
	DAT_UINT32 major, minor;

	(void)r;
	return dot && dot != word && parse_version(dot + 1, &major, &minor);
}

static bool conf_accept_any(struct record *r, const char *word)
{
	(void)r;
	(void)word;
	return true;
}

static const struct {
	const char *expected;
	bool (*parse)(struct record *r, const char *word);
} fields[FIELDS] = {
	{ "an IA name of 1 to 255 characters", conf_parse_name },
	{ "an API version such as u2.0", conf_parse_api },
	{ "threadsafe or nonthreadsafe", conf_parse_thread_safety },
	{ "default or nondefault", conf_parse_default },
	{ "a library name", conf_parse_library },
	{ "a provider version such as dapl.2.0", conf_parse_provider },
	{ "the IA parameters", conf_accept_any },
	{ "the platform parameters", conf_accept_any },
};

/* Quotes a field for the terminal: printable characters only, truncated to `size`. */
static void conf_quote(char *text, size_t size, const char *word)
{
	size_t n = 0;

	text[n++] = '"';
	for (; *word && n + 5 < size; word++)
		text[n++] = isprint((unsigned char)*word) ? *word : '?';
	if (*word) {
		memcpy(text + n, "...", 3);
		n += 3;
	}
	text[n++] = '"';
	text[n] = '\0';
}

__attribute__((format(printf, 4, 5))) static void conf_drop_line(struct dati_conf *conf,
								 unsigned int line,
								 const char *name,
								 const char *format, ...)
{
	struct dati_conf_bad *bad;
	char text[160];
	va_list args;

	conf->num_bad++;
	if (conf->num_bad_kept == DATI_CONF_MAX_BAD)
		return;
	if (!conf->bad)
		conf->bad = calloc(DATI_CONF_MAX_BAD, sizeof(*conf->bad));
	if (!conf->bad)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bad = &conf->bad[conf->num_bad_kept];
	bad->line = line;
	bad->name = strdup(name);
	if (asprintf(&bad->reason, "%s:%u: %s", conf->path, line, text) < 0)
		bad->reason = NULL;
	conf->num_bad_kept++;
}

static void conf_drop_record(struct dati_conf *conf, const struct record *r, int field)
{
	bool named = r->num_fields || r->last == TOKEN_OPEN_QUOTE;
	const char *expected = field < FIELDS ? fields[field].expected : "the end of the line";
	char found[48];

	if (field < r->num_fields)
		conf_quote(found, sizeof(found), r->field[field]);
	else if (r->last == TOKEN_CR)
		strcpy(found, "a carriage return");
	else
		strcpy(found, "the end of the line");
	if (field == r->num_fields && r->last == TOKEN_OPEN_QUOTE)
		expected = "a closing quote";
	conf_drop_line(conf, r->line, named ? r->field[0] : "", "expected %s, found %s", expected,
		       found);
}

static void conf_keep_record(struct dati_conf *conf, const struct record *r)
{
	struct dati_conf_entry *entry;

	if (conf->num_entries == DATI_CONF_MAX_ENTRIES) {
		conf_drop_line(conf, r->line, r->field[0],
			       "expected at most %d entries, found one more",
			       DATI_CONF_MAX_ENTRIES);
		return;
	}
	if (!conf->entries)
		conf->entries = calloc(DATI_CONF_MAX_ENTRIES, sizeof(*conf->entries));
	if (!conf->entries) {
		conf->out_of_memory = true;
		return;
	}
	entry = &conf->entries[conf->num_entries];
	entry->line = r->line;
	entry->info = r->info;
	entry->library = strdup(r->field[4]);
	entry->ia_params = strdup(r->field[6]);
	if (!entry->library || !entry->ia_params) {
		free(entry->library);
		free(entry->ia_params);
		conf->out_of_memory = true;
		return;
	}
	conf->num_entries++;
}

static void conf_parse_line(struct dati_conf *conf, unsigned int line, const char *text, size_t len)
{
	char buffer[2 * DATI_CONF_MAX_LINE + 2];
	struct scan s = { .at = text, .end = text + len, .out = buffer };
	struct record r = { .line = line };
	int i;

	if (len > DATI_CONF_MAX_LINE) {
		conf_drop_line(conf, line, "", "expected a line of at most %d bytes, found %zu",
			       DATI_CONF_MAX_LINE, len);
		return;
	}
	if (memchr(text, '\0', len)) {
		conf_drop_line(conf, line, "", "expected text, found a NUL byte");
		return;
	}
	while (r.num_fields <= FIELDS &&
	       (r.last = scan_word(&s, &r.field[r.num_fields])) == TOKEN_WORD)
		r.num_fields++;
	if (!r.num_fields && (r.last == TOKEN_END || r.last == TOKEN_CR))
		return;
	for (i = 0; i < FIELDS; i++) {
		if (i == r.num_fields || !fields[i].parse(&r, r.field[i])) {
			conf_drop_record(conf, &r, i);
			return;
		}
	}
	if (r.last != TOKEN_END)
		conf_drop_record(conf, &r, FIELDS);
	else if (r.user_api && r.is_default)
		conf_keep_record(conf, &r);
}

/* Accepts a regular file, and the null device as an empty file. */
static int conf_check_type(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) &&
	    !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(NULL_MAJOR, NULL_MINOR)))
		return DATI_CONF_NOT_REGULAR;
	return 0;
}

static int conf_read_file(const char *path, char **text, size_t *len)
{
	ssize_t n = 1;
	int fd, err = 0;

	/* O_NONBLOCK: opening a FIFO would otherwise block until it has a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*len = 0;
	err = conf_check_type(fd);
	*text = err ? NULL : malloc(DATI_CONF_MAX_FILE + 1);
	if (!err && !*text)
		err = -ENOMEM;
	while (!err && n > 0 && *len <= DATI_CONF_MAX_FILE) {
		n = read(fd, *text + *len, DATI_CONF_MAX_FILE + 1 - *len);
		if (n > 0)
			*len += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			err = -errno;
	}
	close(fd);
	if (err)
		free(*text);
	return err;
}

int dati_conf_read(struct dati_conf *conf, const char *path)
{
	const char *at, *end, *newline;
	unsigned int line = 0;
	char *text = NULL;
	size_t len = 0;
	int err;

	memset(conf, 0, sizeof(*conf));
	conf->path = path;
	err = conf_read_file(path, &text, &len);
	if (err)
		return err;
	for (at = text, end = text + len; at < end; at = newline + 1) {
		line++;
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline && len > DATI_CONF_MAX_FILE) {
			conf_drop_line(conf, line, "",
				       "expected a file of at most %d bytes, found more",
				       DATI_CONF_MAX_FILE);
			break;
		}
		if (!newline)
			newline = end;
		conf_parse_line(conf, line, at, (size_t)(newline - at));
	}
	free(text);
	return conf->out_of_memory ? -ENOMEM : 0;
}

const char *dati_conf_error(int err)
{
	return err == DATI_CONF_NOT_REGULAR ? "not a regular file" : strerror(-err);
}

void dati_conf_free(struct dati_conf *conf)
{
	size_t i;

	for (i = 0; i < conf->num_entries; i++) {
		free(conf->entries[i].library);
		free(conf->entries[i].ia_params);
	}
	for (i = 0; i < conf->num_bad_kept; i++) {
		free(conf->bad[i].name);
		free(conf->bad[i].reason);
	}
	free(conf->entries);
	free(conf->bad);
	memset(conf, 0, sizeof(*conf));
}
