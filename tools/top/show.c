/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints snapshots: tables of adapters and connections, or JSON. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/slab.h"
#include "top.h"

static const char *remote_text(const struct dofi_ep_slot *ep, char *text, size_t size)
{
	char addr[INET6_ADDRSTRLEN];

	if ((ep->family != AF_INET && ep->family != AF_INET6) ||
	    !inet_ntop(ep->family, ep->remote, addr, sizeof(addr)))
		return "-";
	snprintf(text, size, ep->family == AF_INET6 ? "[%s]:%u" : "%s:%u", addr, ep->remote_port);
	return text;
}

/* At most six characters: "817", "12.3k", "4.5G". */
static const char *short_number(double n, char text[16])
{
	static const char units[] = " kMGTPE";
	int unit = 0;

	while (n >= 999.5 && units[unit + 1]) {
		n /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(text, 16, "%.0f", n);
	else
		snprintf(text, 16, n < 99.95 ? "%.1f%c" : "%.0f%c", n, units[unit]);
	return text;
}

static void show_adapters(FILE *to, const struct top_rows *rows, size_t most)
{
	char rate[16], tx[16], rx[16], wakes[16];

	fprintf(to, "%7s %-15s %-14s %-10s %6s %6s %6s %6s %6s %6s %6s %6s %6s %4s\n", "PID",
		"PROGRAM", "ADAPTER", "FABRIC", "CONNS", "OPS/S", "TX/S", "RX/S", "REQQ", "RECVQ",
		"STALLS", "RETR", "WAKE/S", "WAIT");
	for (size_t i = 0; i < rows->count && i < most; i++) {
		const struct top_row *r = &rows->row[i];

		fprintf(to,
			"%7ld %-15.15s %-14.14s %-10.10s %6u %6s %6s %6s %6" PRIu64 " %6" PRIu64
			" %6" PRIu64 " ",
			(long)r->p->pid, r->p->program, r->ia->name, r->ia->fabric, r->connections,
			short_number(r->rate, rate), short_number(r->tx, tx),
			short_number(r->rx, rx), r->requests, r->receives, r->stalls);
		if (r->p->sockets > 0)
			fprintf(to, "%6" PRIu64, r->retransmits);
		else
			fprintf(to, "%6s", "-");
		fprintf(to, " %6s %4u\n", short_number(r->wakeups, wakes), r->waiting);
	}
}

/* The endpoints of collectives, which the program has no handle of, are numbered apart. */
static const char *ep_text(uint32_t number, char text[16])
{
	bool internal = number >= DOFI_SLAB_INTERNAL;

	snprintf(text, 16, "%s%u", internal ? "i" : "",
		 internal ? number - DOFI_SLAB_INTERNAL + 1 : number);
	return text;
}

static void show_connections(FILE *to, const struct top_rows *rows, size_t most)
{
	char rate[16], tx[16], rx[16], remote[64], ep[16];

	fprintf(to, "%7s %-14s %5s %-12s %-24s %6s %6s %6s %6s %6s %6s\n", "PID", "ADAPTER", "EP",
		"STATE", "PEER", "OPS/S", "TX/S", "RX/S", "REQQ", "RECVQ", "RETR");
	for (size_t i = 0; i < rows->count && i < most; i++) {
		const struct top_row *r = &rows->row[i];

		fprintf(to, "%7ld %-14.14s %5s %-12s %-24s %6s %6s %6s %6" PRIu64 " ",
			(long)r->p->pid, r->ia ? r->ia->name : "?", ep_text(r->ep->head.number, ep),
			top_ep_state(r->ep->state), remote_text(r->ep, remote, sizeof(remote)),
			short_number(r->rate, rate), short_number(r->tx, tx),
			short_number(r->rx, rx), r->requests);
		if (r->ep->kind & DOFI_SLOT_SRQ)
			fprintf(to, "%6s ", "SRQ");
		else
			fprintf(to, "%6" PRIu64 " ", r->receives);
		if (r->p->sockets > 0)
			fprintf(to, "%6" PRIu64 "\n", r->retransmits);
		else
			fprintf(to, "%6s\n", "-");
	}
}

void top_show(FILE *to, const struct top_snapshot *now, const struct top_snapshot *before,
	      enum top_key key, unsigned int lines)
{
	struct top_rows ias = { NULL, 0 }, eps = { NULL, 0 };
	size_t left = lines ? lines : SIZE_MAX, most;

	if (!top_rows(&ias, now, before, false) || !top_rows(&eps, now, before, true)) {
		fprintf(to, "no memory\n");
		goto out;
	}
	top_sort(&ias, key);
	top_sort(&eps, key);
	fprintf(to, "%zu processes, %zu adapters, %zu endpoints\n\n", now->count, ias.count,
		eps.count);
	/* Adapters get half of the screen if there are more connections than the rest. */
	left = left > 5 ? left - 5 : 1;
	most = eps.count < left / 2 ? left - eps.count : left / 2;
	show_adapters(to, &ias, lines ? most : SIZE_MAX);
	if (ias.count < most)
		most = ias.count;
	fputc('\n', to);
	show_connections(to, &eps, lines ? left - most : SIZE_MAX);
out:
	free(ias.row);
	free(eps.row);
}

/* ---- JSON ---- */

static void json_tally(FILE *to, const char *name, const struct dofi_tally *t)
{
	fprintf(to, "\"%s\": {\"n\": %" PRIu64 ", \"bytes\": %" PRIu64 "}, ", name, t->n, t->bytes);
}

static void json_ep(FILE *to, const struct top_row *r)
{
	const struct dofi_ep_slot *e = r->ep;
	char remote[64];

	fprintf(to, "{\"number\": %u, \"state\": \"%s\", \"peer\": \"%s\", \"srq\": %s, ",
		e->head.number, top_ep_state(e->state), remote_text(e, remote, sizeof(remote)),
		e->kind & DOFI_SLOT_SRQ ? "true" : "false");
	json_tally(to, "sends", &e->posted[0]);
	json_tally(to, "writes", &e->posted[1]);
	json_tally(to, "reads", &e->posted[2]);
	json_tally(to, "receives_posted", &e->posted[3]);
	json_tally(to, "received", &e->received);
	json_tally(to, "writes_immed", &e->write_immed);
	json_tally(to, "writes_immed_received", &e->write_immed_received);
	json_tally(to, "datagrams", &e->ud_sent);
	json_tally(to, "datagrams_received", &e->ud_received);
	fprintf(to,
		"\"fetch_adds\": %" PRIu64 ", \"cmp_swaps\": %" PRIu64
		", \"requests_failed\": %" PRIu64 ", \"receives_failed\": %" PRIu64
		", \"connects\": %u, \"disconnects\": %u, ",
		e->fetch_adds, e->cmp_swaps, e->requests_failed, e->receives_failed, e->connects,
		e->disconnects);
	fprintf(to,
		"\"request_queue\": %" PRIu64 ", \"receive_queue\": %" PRIu64
		", \"ops_per_s\": %.1f, \"tx_bytes_per_s\": %.1f, \"rx_bytes_per_s\": %.1f, "
		"\"peer_retransmits\": %" PRIu64 "}",
		r->requests, r->receives, r->rate, r->tx, r->rx, r->retransmits);
}

static void json_evd(FILE *to, const struct dofi_evd_slot *e)
{
	fprintf(to,
		"{\"number\": %u, \"streams\": %u, \"length\": %u, \"queued\": %" PRIu64
		", \"waited\": %s, ",
		e->head.number, e->head.flags, e->qlen,
		e->queued > e->popped ? e->queued - e->popped : 0,
		top_evd_waited(e) ? "true" : "false");
	fprintf(to,
		"\"dequeues\": %" PRIu64 ", \"polls\": %" PRIu64 ", \"completions\": %" PRIu64
		", \"waits\": %" PRIu64 ", \"sleeps\": %" PRIu64 ", \"notifications\": %" PRIu64
		"}",
		e->polls + e->takes, e->polls, e->direct + e->queued - e->other_events, e->waits,
		e->sleeps, e->notifies);
}

/* The counters of the IA that are not zero, by their names in dat_ib_counters.h. */
static void json_ia_counters(FILE *to, const struct dofi_ia_slot *ia)
{
	static const char *const names[] = {
#define DOFI_COUNTERS_IA
#define X(name) #name,
#include "base/counters.def"
#undef X
#undef DOFI_COUNTERS_IA
	};
	const char *sep = "";

	fprintf(to, "\"counters\": {");
	for (int i = 0; i < DOFI_IA_COUNTERS; i++) {
		if (!ia->n[i])
			continue;
		fprintf(to, "%s\"DCNT_IA_%s\": %" PRIu64, sep, names[i], ia->n[i]);
		sep = ", ";
	}
	fputs("}", to);
}

static void json_ia(FILE *to, const struct top_row *r, const struct top_rows *eps)
{
	const char *sep = "";

	fprintf(to,
		"    {\"number\": %u, \"name\": \"%s\", \"fabric\": \"%s\", \"interface\": \"%s\", "
		"\"connections\": %u, \"ops_per_s\": %.1f, \"tx_bytes_per_s\": %.1f, "
		"\"rx_bytes_per_s\": %.1f, \"request_queue\": %" PRIu64
		", \"receive_queue\": %" PRIu64 ", \"stalls\": %" PRIu64 ", \"wakeups\": %" PRIu64
		", \"wakeups_per_s\": %.1f, \"waiting\": %u,\n     ",
		r->ia->head.number, r->ia->name, r->ia->fabric, r->ia->netdev, r->connections,
		r->rate, r->tx, r->rx, r->requests, r->receives, r->stalls, r->ia->wakeups,
		r->wakeups, r->waiting);
	json_ia_counters(to, r->ia);
	fputs(",\n     \"evds\": [", to);
	for (size_t i = 0; i < r->p->evds; i++) {
		if (r->p->evd[i].head.ia != r->ia->head.number)
			continue;
		fputs(sep, to);
		json_evd(to, &r->p->evd[i]);
		sep = ",\n       ";
	}
	fputs("],\n     \"endpoints\": [", to);
	sep = "";
	for (size_t i = 0; i < eps->count; i++) {
		if (eps->row[i].p != r->p || eps->row[i].ia != r->ia)
			continue;
		fputs(sep, to);
		json_ep(to, &eps->row[i]);
		sep = ",\n       ";
	}
	fputs("]}", to);
}

static void json_process(FILE *to, const struct top_process *p, const struct top_rows *ias,
			 const struct top_rows *eps)
{
	const char *sep = "";

	fprintf(to, "  {\"pid\": %ld, \"program\": \"%s\", \"api\": \"%u.%u\", ", (long)p->pid,
		p->program, p->api / 10, p->api % 10);
	if (p->sockets >= 0)
		fprintf(to, "\"tcp_sockets\": %d, \"tcp_retransmits\": %" PRIu64 ", ", p->sockets,
			p->retransmits);
	fputs("\"adapters\": [\n", to);
	for (size_t i = 0; i < ias->count; i++) {
		if (ias->row[i].p != p)
			continue;
		fputs(sep, to);
		json_ia(to, &ias->row[i], eps);
		sep = ",\n";
	}
	fputs("]}", to);
}

void top_json(FILE *to, const struct top_snapshot *now, const struct top_snapshot *before)
{
	struct top_rows ias = { NULL, 0 }, eps = { NULL, 0 };
	const char *sep = "";

	if (top_rows(&ias, now, before, false) && top_rows(&eps, now, before, true)) {
		top_sort(&eps, TOP_PID);
		fprintf(to, "{\"processes\": [\n");
		for (size_t i = 0; i < now->count; i++) {
			fputs(sep, to);
			json_process(to, &now->process[i], &ias, &eps);
			sep = ",\n";
		}
		fprintf(to, "\n]}\n");
	}
	free(ias.row);
	free(eps.row);
}
