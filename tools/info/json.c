/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON; bytes of texts that are not UTF-8 are replaced. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"

#define MAX_DEPTH 16

static struct {
	char close;
	bool used;
} level[MAX_DEPTH];
static int depth;

/* Length of the UTF-8 sequence at `p`; 0 if it is invalid (RFC 3629). */
static int utf8_length(const unsigned char *p)
{
	int len = *p < 0x80                 ? 1
		  : *p >= 0xc2 && *p < 0xe0 ? 2
		  : *p >= 0xe0 && *p < 0xf0 ? 3
		  : *p >= 0xf0 && *p < 0xf5 ? 4
					    : 0;
	int i;

	for (i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

static void json_put_string(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	putchar('"');
	while (*p) {
		int len = utf8_length(p);

		if (!len) {
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (*p == '"' || *p == '\\') {
			printf("\\%c", *p);
		} else if (*p < 0x20 || *p == 0x7f) {
			printf("\\u%04x", *p);
		} else {
			fwrite(p, 1, (size_t)len, stdout);
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
