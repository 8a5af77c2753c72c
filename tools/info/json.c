/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON; bytes of texts that are not UTF-8 are replaced. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "utf8.h"

#define MAX_DEPTH 16

static struct {
	char close;
	bool used;
} level[MAX_DEPTH];
static int depth;

static void json_put_string(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	const unsigned char *end = p + strlen(text);

	putchar('"');
	while (*p) {
		size_t len = utf8_length(p, (size_t)(end - p));

		if (!len) {
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (*p == '"' || *p == '\\') {
			printf("\\%c", *p);
		} else if (*p < 0x20 || *p == 0x7f) {
			printf("\\u%04x", *p);
		} else {
			fwrite(p, 1, len, stdout);
		}
		p += len;
	}
	putchar('"');
}

static void json_begin_member(const char *name)
{
	if (depth) {
		printf("%s\n%*s", level[depth - 1].used ? "," : "", 2 * depth, "");
		level[depth - 1].used = true;
	}
	if (name) {
		json_put_string(name);
		fputs(": ", stdout);
	}
}

static void json_open(const char *name, char open, char close)
{
	json_begin_member(name);
	putchar(open);
	level[depth].close = close;
	level[depth].used = false;
	depth++;
}

void json_object(const char *name)
{
	json_open(name, '{', '}');
}

void json_array(const char *name)
{
	json_open(name, '[', ']');
}

void json_end(void)
{
	depth--;
	if (level[depth].used)
		printf("\n%*s", 2 * depth, "");
	putchar(level[depth].close);
	if (!depth)
		putchar('\n');
}

void json_raw(const char *name, const char *value)
{
	json_begin_member(name);
	fputs(value, stdout);
}

void json_text(const char *name, const char *value)
{
	if (!value) {
		json_raw(name, "null");
		return;
	}
	json_begin_member(name);
	json_put_string(value);
}

void json_number(const char *name, int64_t value)
{
	json_begin_member(name);
	printf("%" PRId64, value);
}

void json_flag(const char *name, bool value)
{
	json_raw(name, value ? "true" : "false");
}
