/* SPDX-License-Identifier: BSD-2-Clause */
/* Is a peer of another protocol version, another fabric or another library refused while it
 * connects, at once, and with the reason in the log?
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cm_proto.h"
#include "rdat.h"
#include "rfab.h"

enum step { ST_ADDR, ST_LISTEN, ST_REFUSED };

struct deviation {
	const char *name;
	void (*spoil)(uint8_t *msg, size_t *len);
	const char *const words[4];	/* one of them must be in the log, whatever the case, */
	const char *const not;		/* ... and this must not: it would be a guess */
};

static void other_version(uint8_t *msg, size_t *len)
{
	(void)len;
	msg[4] = DOFI_CM_VERSION + 1;
}

/* A later version may have a longer header. */
static void much_later_version(uint8_t *msg, size_t *len)
{
	memset(msg + 4, 0xff, RF_CM_DATA - 4);
	*len = RF_CM_DATA;
}

static void other_fabric(uint8_t *msg, size_t *len)
{
	(void)len;
	msg[6] = 77;
}

static void other_library(uint8_t *msg, size_t *len)
{
	memset(msg, 0, DOFI_CM_MAX);
	memcpy(msg, "\x01\x00\x00\x22 another way to connect", 28);
	*len = 80;
}

static void no_header(uint8_t *msg, size_t *len)
{
	(void)msg;
	*len = 0;
}

static void malformed(uint8_t *msg, size_t *len)
{
	msg[10] = 0x7f;
	(void)len;
}

static const struct deviation deviations[] = {
	{ "other-version", other_version, { "version" }, "fabric" },
	{ "much-later-version", much_later_version, { "version" }, "fabric" },
	{ "other-fabric", other_fabric, { "fabric" }, "version" },
	{ "other-library", other_library, { "protocol", "library", "foreign" }, "version" },
	{ "no-header", no_header, { "protocol", "library", "foreign" }, "version" },
	{ "malformed", malformed, { "malformed", "protocol", "length" }, "version" },
};

static size_t message(const struct deviation *d, enum dofi_cm_kind kind, uint8_t *buf)
{
	struct dofi_cm_msg m = { .kind = kind, .fabric = 1, .api = 20, .reads_in = 4,
				 .reads_out = 4,
				 .qual = kind == DOFI_CM_REQUEST ? rl_board->qual : 0 };
	size_t len = dofi_cm_build(buf, &m);

	d->spoil(buf, &len);
	return len;
}

/* The log of one process: what it writes to its standard error. */
static int log_fd;

static void capture_log(void)
{
	log_fd = memfd_create("log", MFD_CLOEXEC);
	RL_CHECK(log_fd >= 0 && dup2(log_fd, 2) == 2, "no place for the log");
}

static void check_log(const struct deviation *d)
{
	char text[4096];
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
	bool told = false;

	text[n > 0 ? n : 0] = 0;
	for (char *p = text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (int i = 0; i < 4 && d->words[i]; i++)
		told |= strstr(text, d->words[i]) != NULL;
	told &= !strstr(text, d->not);
	text[strcspn(text, "\n")] = 0;
	RL_CHECK(told, "the log does not tell \"%s\" (and nothing else); it begins \"%.150s\"",
		 d->words[0], text);
}

/* We listen, the other one connects */

static void listener(void *arg)
{
	const struct deviation *d = arg;
	struct rd rd;
	DAT_EVENT ev;

	capture_log();
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rl_at("waiting for the stranger to be refused");
	rl_await(ST_REFUSED, 1, 10000);
	RL_CHECK(!rd_next(rd.cr, 50, &ev), "the program heard of the request");
	check_log(d);
	rd_close(&rd);
}

static void strange_client(void *arg)
{
	const struct deviation *d = arg;
	uint8_t buf[DOFI_CM_MAX];
	enum rf_event event;
	struct rf *rf;
	uint64_t began;
	size_t len;

	rl_await(ST_LISTEN, 1, 10000);
	len = message(d, DOFI_CM_REQUEST, buf);
	rf = rf_open(false);
	began = rl_now();
	rf_connect(rf, buf, len);
	rl_at("waiting for the refusal");
	event = rf_wait(rf, 3000);
	RL_CHECK(event == RF_REFUSED, "%s instead of a refusal", rf_event_text(event));
	RL_CHECK(rl_now() - began < (uint64_t)rl_bound(500) * 1000, "refused after %llu ms only",
		 (unsigned long long)(rl_now() - began) / 1000);
	rl_step(ST_REFUSED, 1);
	rf_close(rf);
	rl_leave();
}

/* We connect, the other one accepts */

static void connector(void *arg)
{
	const struct deviation *d = arg;
	struct rd rd;
	DAT_EVENT ev;

	capture_log();
	rd_open(&rd, 0, 16);
	memcpy(rl_board->addr, &rd.addr, sizeof(rl_board->addr));
	rl_step(ST_ADDR, 1);
	rl_await(ST_LISTEN, 1, 10000);
	rd.ep = rd_ep_create(&rd, 4);
	rd_connect(&rd, rd.ep, 4000, NULL, 0);
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 1000, &ev);
	check_log(d);
	rd_close(&rd);
	rl_step(ST_REFUSED, 1);
}

static void strange_server(void *arg)
{
	const struct deviation *d = arg;
	uint8_t buf[DOFI_CM_MAX];
	enum rf_event event;
	struct rf *rf;
	size_t len;

	rl_await(ST_ADDR, 1, 10000);
	rf = rf_open(true);
	rl_step(ST_LISTEN, 1);
	RL_CHECK(rf_wait(rf, 6000) == RF_REQUEST, "no request came");
	len = message(d, DOFI_CM_ACCEPT, buf);
	rf_accept(rf, buf, len);
	event = rf_wait(rf, 3000);
	if (event == RF_CONNECTED)
		event = rf_wait(rf, 3000);
	RL_CHECK(event == RF_SHUTDOWN || event == RF_ERROR, "the connection was not ended: %s",
		 rf_event_text(event));
	rl_await(ST_REFUSED, 1, 5000);
	rf_close(rf);
	rl_leave();
}

static void run(void)
{
	char name[64];

	if (!rf_usable()) {
		rl_skip("versions", "no strangers are known for this fabric");
		return;
	}
	setenv("DAPL_OFI_LOG", "2", 1);
	for (size_t i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++) {
		void *d = (void *)(uintptr_t)&deviations[i];

		snprintf(name, sizeof(name), "%s-connects", deviations[i].name);
		if (rl_begin(name, 15000)) {
			rl_start("listener", listener, d);
			rl_start("stranger", strange_client, d);
			rl_end();
		}
		snprintf(name, sizeof(name), "%s-accepts", deviations[i].name);
		if (rl_begin(name, 15000)) {
			rl_start("client", connector, d);
			rl_start("stranger", strange_server, d);
			rl_end();
		}
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 60, run);
}
