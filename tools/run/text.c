/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and prints the output files of programs. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "utf8.h"

#define MAX_TEXT ((off_t)32 << 20)

char *text_read(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t n = 1;
	size_t capacity;

	*len = 0;
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st)) {
		capacity = (size_t)(st.st_size > MAX_TEXT ? MAX_TEXT : st.st_size);
		if (st.st_size > MAX_TEXT)
			lseek(fd, st.st_size - MAX_TEXT, SEEK_SET);
		text = malloc(capacity + 1);
		while (text && n > 0 && *len < capacity) {
			n = read(fd, text + *len, capacity - *len);
			if (n > 0)
				*len += (size_t)n;
		}
	}
	close(fd);
	if (!text)
		return NULL;
	for (size_t i = 0; i < *len; i++)
		if (!text[i])
			text[i] = ' ';
	text[*len] = '\0';
	return text;
}

const char *text_tail(const char *text, size_t len, unsigned int lines)
{
	const char *at = text + len;

	if (at > text && at[-1] == '\n')
		at--;
	while (at > text) {
		if (at[-1] == '\n' && !--lines)
			break;
		at--;
	}
	return at;
}

int text_lines(char *text, int (*line)(char *line, void *arg), void *arg)
{
	while (*text) {
		char *end = strchrnul(text, '\n'), was = *end;
		int ret;

		*end = '\0';
		ret = line(text, arg);
		*end = was;
		if (ret)
			return ret;
		text = was ? end + 1 : end;
	}
	return 0;
}

/* Writes a text; `special` returns the escape sequence of a character, or NULL. */
static void write_escaped(FILE *out, const char *text, size_t len, bool lines,
			  const char *(*special)(char c))
{
	const unsigned char *at = (const unsigned char *)text;

	while (len) {
		size_t n = utf8_length(at, len);
		const char *name = special((char)*at);
		bool control = *at < ' ' || *at == 0x7F;

		if (name)
			fputs(name, out);
		else if (!n || (control && !(lines && (*at == '\n' || *at == '\t'))))
			fputc('?', out);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
		len -= n ? n : 1;
	}
}

static const char *json_name(char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

static const char *xml_name(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\r':
		return "&#13;";
	default:
		return NULL;
	}
}

static const char *plain_name(char c)
{
	return c == '\t' ? "    " : c == '\r' ? "" : NULL;
}

void text_json(FILE *out, const char *text, size_t len)
{
	write_escaped(out, text, len, false, json_name);
}

void text_xml(FILE *out, const char *text, size_t len)
{
	write_escaped(out, text, len, true, xml_name);
}

void text_plain(FILE *out, const char *text, size_t len)
{
	write_escaped(out, text, len, false, plain_name);
}
