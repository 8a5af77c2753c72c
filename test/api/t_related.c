/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which names are related: adapters of several fabrics and interfaces, open or not, in both
 * directions (dat_registry_providers_related and the provider's call, 2.0). */
#include "rig.h"

#include <dirent.h>

#define TAP "dattap"
#define ADDRESS "198.51.100.1"
#define ADDRESS2 "203.0.113.1"
#define ROUNDS 20

extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out);

/* The last three cannot be opened. */
static const struct {
	const char *name, *params, *related; /* to each of them: T, F, ? (unknown) */
} entries[] = {
	{ "tcp-lo", "provider=tcp domain=lo", "TTFFTFFFFF?F?" },
	{ "tcp-lo-address", "provider=tcp domain=127.0.0.1", "TTFFTFFFFF?F?" },
	{ "tcp-tap", "domain=" TAP " provider=tcp", "FFTTFTFFFF?F?" },
	{ "tcp-tap-address", "provider=tcp domain=" ADDRESS2, "FFTTFTFFFF?F?" },
	{ "both-lo", "provider=tcp+shm domain=lo", "TTFFTFTTFF?F?" },
	{ "both-tap", "provider=tcp+shm domain=" TAP, "FFTTFTTTFF?F?" },
	{ "shm-lo", "provider=shm domain=lo", "FFFFTTTTFFFF?" },
	{ "shm-tap", "provider=shm domain=" TAP, "FFFFTTTTFFFF?" },
	{ "rxm-lo", "provider=rxm domain=lo", "FFFFFFFFTFFF?" },
	{ "rxm-tap", "provider=rxm domain=" TAP, "FFFFFFFFFTFF?" },
	{ "tcp-none", "provider=tcp domain=none0", "??????FFFFTF?" },
	{ "verbs-none", "provider=verbs domain=none0", "FFFFFFFFFFFT?" },
	{ "nonsense", "provider=nonsense domain=lo", "????????????T" },
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static char answer_of(const char *one, const char *two)
{
	DAT_HA_RELATIONSHIP answer = (DAT_HA_RELATIONSHIP)99;

	OK(dat_registry_providers_related((char *)(uintptr_t)one, (char *)(uintptr_t)two, &answer));
	switch (answer) {
	case DAT_HA_TRUE:
		return 'T';
	case DAT_HA_FALSE:
		return 'F';
	case DAT_HA_UNKNOWN:
		return '?';
	default:
		return 'C';
	}
}

static char answer_both_ways(const char *one, const char *two)
{
	char answer = answer_of(one, two);

	ASSERT_EQ(answer_of(two, one), answer);
	return answer;
}

static char *add_line(char *at, const char *end, const char *name, const char *params)
{
	conf_line(at, (size_t)(end - at), name, provider_path(), params);
	return at + strlen(at);
}

/* The entries, and the adapter under test and the default one with an alias each. */
static void write_entries(void)
{
	char text[4096], *at = text, *end = text + sizeof(text);

	for (size_t i = 0; i < ENTRIES; i++)
		at = add_line(at, end, entries[i].name, entries[i].params);
	at = add_line(at, end, ia_name(), fabric_params());
	at = add_line(at, end, "alias", fabric_params());
	at = add_line(at, end, "any", "");
	add_line(at, end, "any-alias", " ");
	conf_text(text);
}

/* The second address of the interface has a label of its own. */
static int enter_network(void)
{
	int tap = deaf_network(TAP, ADDRESS);

	deaf_address(TAP ":1", ADDRESS2);
	write_entries();
	return tap;
}

static void check_row(size_t i)
{
	for (size_t j = 0; j < ENTRIES; j++) {
		char answer = answer_both_ways(entries[i].name, entries[j].name);

		if (answer != entries[i].related[j])
			dt_fail(__FILE__, __LINE__, "%s and %s: %c, expected %c", entries[i].name,
				entries[j].name, answer, entries[i].related[j]);
	}
}

TEST(related, by_fabric_and_interface_in_both_directions)
{
	int tap = enter_network();

	for (size_t i = 0; i < ENTRIES; i++)
		check_row(i);
	close(tap);
}

TEST(related, open_adapters_as_closed_ones)
{
	static const char *const opened[] = { "tcp-lo", "tcp-tap-address", "both-tap", "shm-tap",
					      "rxm-lo" };
	int tap = enter_network();
	struct node n;

	for (size_t k = 0; k < sizeof(opened) / sizeof(opened[0]); k++) {
		node_open_name(&n, opened[k]);
		for (size_t i = 0; i < ENTRIES; i++)
			if (!strcmp(entries[i].name, opened[k]))
				check_row(i);
		node_close(&n);
	}
	close(tap);
}

TEST(related, both_open)
{
	struct node lo, both, shm;

	write_entries();
	node_open_name(&lo, "tcp-lo");
	node_open_name(&both, "both-lo");
	node_open_name(&shm, "shm-lo");
	ASSERT_EQ(answer_both_ways("tcp-lo", "both-lo"), 'T');
	ASSERT_EQ(answer_both_ways("shm-lo", "both-lo"), 'T');
	ASSERT_EQ(answer_both_ways("tcp-lo", "shm-lo"), 'F');
	node_close(&shm);
	node_close(&both);
	node_close(&lo);
}

/* Related adapters of different interfaces, addresses or fabrics accept each other's
 * connections. */
static void connect_names(const char *active, const char *passive)
{
	DAT_EVD_HANDLE cr_evd;
	struct node from, to;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct side a, b;

	ASSERT_EQ(answer_both_ways(active, passive), 'T');
	node_open_name(&from, active);
	node_open_name(&to, passive);
	side_make(&a, &from, NULL);
	side_make(&b, &to, NULL);
	cr_evd = evd_make(&to, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(to.ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(connect_to(a.ep, to.attr.ia_address_ptr, qual));
	OK(dat_cr_accept(EV_CR(cr_evd, psp, qual), b.ep, 0, NULL));
	EV_CONN(a.conn, ESTABLISHED, a.ep);
	EV_CONN(b.conn, ESTABLISHED, b.ep);
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(a.conn, DISCONNECTED, a.ep);
	EV_CONN(b.conn, DISCONNECTED, b.ep);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cr_evd));
	side_free(&a);
	side_free(&b);
	node_close(&to);
	node_close(&from);
}

TEST(related, adapters_connect_to_each_other)
{
	int tap = enter_network();

	connect_names("shm-lo", "shm-tap");
	connect_names("shm-tap", "both-lo");
	connect_names("both-lo", "shm-tap");
	connect_names("tcp-tap", "tcp-tap-address");
	connect_names("both-tap", "tcp-tap-address");
	close(tap);
}

/* ---- the adapter under test, and the one that names no fabric ---- */

TEST(related, an_alias_of_the_adapter)
{
	struct node n;

	write_entries();
	ASSERT_EQ(answer_both_ways(ia_name(), "alias"), 'T');
	node_open(&n);
	ASSERT_EQ(answer_both_ways(ia_name(), "alias"), 'T');
	ASSERT_EQ(answer_both_ways(ia_name(), ia_name()), 'T');
	ASSERT_EQ(answer_both_ways(ia_name(), "nonsense"), '?');
	node_close(&n);
}

/* Whatever it opens, the answers beforehand are those of the open adapter. */
TEST(related, an_adapter_without_a_named_fabric_as_what_it_opens)
{
	char answers[ENTRIES];
	struct node n;

	write_entries();
	for (size_t i = 0; i < ENTRIES; i++)
		answers[i] = answer_both_ways("any", entries[i].name);
	ASSERT_EQ(answer_both_ways("any", "any-alias"), 'T');
	/* Built in, by the library that is in this process by now. */
	ASSERT_EQ(answer_both_ways("any", "ofi"), 'T');
	ASSERT_EQ(answer_both_ways("any", "OpenIB-cma"), 'T');
	node_open_name(&n, "any");
	for (size_t i = 0; i < ENTRIES; i++)
		ASSERT_EQ(answer_both_ways("any", entries[i].name), answers[i]);
	ASSERT_EQ(answer_both_ways("any", "any-alias"), 'T');
	ASSERT_EQ(answer_both_ways("any", "OpenIB-cma"), 'T');
	node_close(&n);
}

/* The environment chooses the fabric and the interface of all names. */
TEST(related, every_name_if_the_environment_selects_the_adapter)
{
	setenv("DAPL_OFI_PROVIDER", "tcp", 1);
	setenv("DAPL_OFI_DOMAIN", "lo", 1);
	write_entries();
	for (size_t i = 0; i < ENTRIES; i++)
		ASSERT_EQ(answer_both_ways("rxm-lo", entries[i].name), 'T');
}

/* ---- arguments and side effects ---- */

TEST(related, bad_names)
{
	char name[DAT_NAME_MAX_LENGTH + 1], *a = (char *)(uintptr_t) "tcp-lo";
	DAT_HA_RELATIONSHIP answer = (DAT_HA_RELATIONSHIP)99;

	write_entries();
	memset(name, 'x', DAT_NAME_MAX_LENGTH);
	name[DAT_NAME_MAX_LENGTH] = '\0';
	BAD_ARG(dat_registry_providers_related(NULL, a, &answer), 1);
	BAD_ARG(dat_registry_providers_related(name, a, &answer), 1);
	BAD_ARG(dat_registry_providers_related(a, NULL, &answer), 2);
	BAD_ARG(dat_registry_providers_related(a, name, &answer), 2);
	BAD_ARG(dat_registry_providers_related(a, a, NULL), 3);
	name[DAT_NAME_MAX_LENGTH - 1] = '\0';
	ASSERT_RET(dat_registry_providers_related(a, name, &answer), DAT_PROVIDER_NOT_FOUND,
		   DAT_NAME_NOT_REGISTERED);
	ASSERT_RET(dat_registry_providers_related(name, a, &answer), DAT_PROVIDER_NOT_FOUND,
		   DAT_NAME_NOT_REGISTERED);
	ASSERT_RET(dat_registry_providers_related(name, name, &answer), DAT_PROVIDER_NOT_FOUND,
		   DAT_NAME_NOT_REGISTERED);
	ASSERT_RET(dat_registry_providers_related(a, (char *)(uintptr_t) "", &answer),
		   DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ASSERT_EQ((int)answer, 99);
}

/* The provider's own call, which a registry passes the name to. */
TEST(related, call_of_the_provider)
{
	char name[DAT_NAME_MAX_LENGTH + 1], *a = (char *)(uintptr_t) "tcp-lo";
	DAT_IA_HA_RELATED_FUNC call;
	DAT_BOOLEAN answer = 99;
	DAT_IA_HANDLE own;
	struct node n, tcp;

	write_entries();
	memset(name, 'x', DAT_NAME_MAX_LENGTH);
	name[DAT_NAME_MAX_LENGTH] = '\0';
	node_open(&n);
	OK(dats_get_ia_handle(n.ia, &own));
	call = DAT_HANDLE_TO_PROVIDER(n.pz)->ia_ha_related_func;
	BAD_HANDLE(call(NULL, a, &answer), IA);
	BAD_HANDLE(call(n.pz, a, &answer), IA);
	BAD_ARG(call(own, NULL, &answer), 2);
	BAD_ARG(call(own, name, &answer), 2);
	BAD_ARG(call(own, a, NULL), 3);
	/* A name that has not been loaded may be that of another provider. */
	ASSERT_RET(call(own, a, &answer), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ASSERT_EQ(answer, 99);
	OK(call(own, (char *)(uintptr_t)ia_name(), &answer));
	ASSERT_EQ(answer, DAT_TRUE);
	node_open_name(&tcp, "tcp-lo");
	OK(call(own, a, &answer));
	ASSERT_EQ(answer_of(ia_name(), a), answer ? 'T' : 'F');
	node_close(&tcp);
	ASSERT_RET(call(own, a, &answer), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	node_close(&n);
}

static unsigned int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned int n = 0;

	ASSERT(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Nothing is printed, opened or started. (What loading libfabric opens is its own.) */
TEST(related, without_side_effects)
{
	FILE *output = tmpfile();
	int own_stderr = dup(2);
	unsigned int threads;
	struct dt_fds fds;

	ASSERT(output && own_stderr >= 0);
	write_entries();
	dt_fds_get(&fds);
	threads = count_threads();
	ASSERT(dup2(fileno(output), 2) == 2);
	answer_both_ways("tcp-lo", "both-lo");
	answer_both_ways("shm-lo", "rxm-lo");
	answer_both_ways("tcp-none", "tcp-lo");
	answer_both_ways("nonsense", "tcp-lo");
	ASSERT_EQ(count_threads(), threads);
	dt_fds_check(&fds, __FILE__, __LINE__);
	answer_both_ways("verbs-none", "tcp-lo");
	answer_both_ways("verbs-none", "any");
	ASSERT_EQ(fseek(output, 0, SEEK_END), 0);
	ASSERT(dup2(own_stderr, 2) == 2);
	ASSERT_EQ(ftell(output), 0);
	close(own_stderr);
	fclose(output);
}

/* ---- threads ---- */

static void compare_names(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(answer_both_ways("tcp-lo", "both-lo"), 'T');
		ASSERT_EQ(answer_both_ways("shm-lo", "tcp-lo"), 'F');
	}
}

TEST(related, while_another_thread_opens_and_closes)
{
	struct dt_thread threads[2];
	struct node n;

	write_entries();
	for (int i = 0; i < 2; i++)
		dt_thread_start(&threads[i], compare_names, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		node_open_name(&n, i % 2 ? "tcp-lo" : "both-lo");
		node_close(&n);
	}
	for (int i = 0; i < 2; i++)
		dt_thread_join(&threads[i]);
}
