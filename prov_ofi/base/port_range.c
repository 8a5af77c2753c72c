/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the range of ports from the settings, and goes through it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/param.h"
#include "base/port_range.h"

/* Decimal digits up to `end`, which is a character of the text. False: it is no port. */
static bool ports_parse_one(const char **text, char end, uint32_t *port)
{
	char *rest;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	value = strtoul(*text, &rest, 10);
	if (errno || *rest != end || !value || value > UINT16_MAX)
		return false;
	*text = rest + 1;
	*port = (uint32_t)value;
	return true;
}

/* "FIRST-LAST". */
static bool ports_parse(const char *text, uint32_t *first, uint32_t *last)
{
	return ports_parse_one(&text, '-', first) && ports_parse_one(&text, '\0', last) &&
	       *first <= *last;
}

void dofi_ports_begin(struct dofi_ports *ports)
{
	/* A port that has become free is not taken by the next listener at once, which former peers
	 * would reach. */
	static _Atomic uint32_t turn;
	const char *text = dofi_param_str(DOFI_STR_PORT_RANGE);
	uint32_t last;

	*ports = (struct dofi_ports){ .left = 1 };
	if (!text)
		return;
	if (!ports_parse(text, &ports->first, &last)) {
		dofi_log(DOFI_LOG_ERROR,
			 "DAPL_OFI_PORT_RANGE=%.40s is not FIRST-LAST, two ports from 1 to 65535; "
			 "the system chooses ports",
			 text);
		ports->first = 0;
		return;
	}
	ports->n = ports->left = last - ports->first + 1;
	ports->at = ((uint32_t)getpid() + atomic_fetch_add(&turn, 1)) % ports->n;
}

bool dofi_ports_next(struct dofi_ports *ports, uint16_t *port)
{
	if (!ports->left)
		return false;
	ports->left--;
	*port = (uint16_t)(ports->first + ports->at);
	if (ports->n)
		ports->at = (ports->at + 1) % ports->n;
	return true;
}

bool dofi_ports_is_taken(int err)
{
	/* A port below 1024 may be another user's privilege. */
	return err == -EADDRINUSE || err == -EACCES;
}

bool dofi_ports_exhausted(const struct dofi_ports *ports, int err)
{
	return ports->n && dofi_ports_is_taken(err);
}
