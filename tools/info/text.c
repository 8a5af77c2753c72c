/* SPDX-License-Identifier: BSD-2-Clause */
/* Wraps long lines. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "memory.h"
#include "text.h"

#define DEFAULT_WIDTH 96
#define MIN_WIDTH 60

static int line_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ||
	    size.ws_col < MIN_WIDTH)
		return DEFAULT_WIDTH;
	return size.ws_col;
}

int text_width(int width, const char *text)
{
	int len = (int)strlen(text);

	return len > width ? len : width;
}

void text_wrap(int at, int indent, const char *format, ...)
{
	char *text = NULL, *word, *save = NULL;
	int width = line_width(), column = at;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		int len = (int)strlen(word);

		if (column > at && column + 1 + len > width) {
			printf("\n%*s", indent, "");
			column = at = indent;
		}
		printf("%s%s", column > at ? " " : "", word);
		column += len + (column > at);
	}
	putchar('\n');
	free(text);
}
