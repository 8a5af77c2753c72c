/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the log of failed attempts to connect, on both sides. */
#include <arpa/inet.h>
#include <regex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define ENTRIES \
	LINE("tcp", "provider=tcp domain=127.0.0.1") \
	LINE("shm", "provider=shm domain=127.0.0.1") \
	LINE("rxm", "provider=rxm domain=127.0.0.1") \
	LINE("rxm+shm", "provider=rxm+shm domain=127.0.0.1") \
	LINE("tcp+shm", "provider=tcp+shm domain=127.0.0.1") \
	LINE("constrained", "provider=constrained domain=127.0.0.1")

/* A line that matches, and `try: ` in it. */
static void must_match(const char *pattern)
{
	char whole[512];
	regex_t regex;

	snprintf(whole, sizeof(whole), "(^|\n)dat-ofi[^\n]*: %s[^\n]*; try: [^\n]+", pattern);
	ASSERT(!regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB));
	if (regexec(&regex, player_output(), 0, NULL, 0))
		FAIL("no line like \"%s\" in:\n%.1500s", whole, player_output());
	regfree(&regex);
}

static const struct fabric {
	const char *rule;
	const char *pattern; /* its name, for regular expressions */
} fabrics[] = {
	{ "tcp", "tcp" },           { "shm", "shm" },           { "rxm", "rxm" },
	{ "rxm+shm", "rxm[+]shm" }, { "tcp+shm", "tcp[+]shm" },
};

/* A bound socket that does not listen: while it is open, no other can listen on its port. */
static int hold_port(char *port, size_t size)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT(!bind(fd, (struct sockaddr *)&addr, len));
	ASSERT(!getsockname(fd, (struct sockaddr *)&addr, &len));
	snprintf(port, size, "%u", ntohs(addr.sin_port));
	return fd;
}

static void connect_to_no_listener(const void *row)
{
	const struct fabric *f = row;
	char pattern[256], port[8];
	int fd = hold_port(port, sizeof(port));

	set_conf(ENTRIES);
	ASSERT_EQ(run_player("connect", f->rule, "127.0.0.1", port, NULL), 0);
	expect_no_output();
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("connect", f->rule, "127.0.0.1", port, NULL), 0);
	snprintf(pattern, sizeof(pattern),
		 "cannot connect to 127.0.0.1:%s [(]qualifier %s[)] "
		 "over %s: no service point of this fabric listens there",
		 port, port, f->pattern);
	close(fd);
	must_match(pattern);
	ASSERT_EQ(count_output_lines(), 1);
}

TEST_ROWS(no_listener, fabrics, connect_to_no_listener)

static void connect_to_other_qualifier(const void *row)
{
	const struct fabric *f = row;
	char pattern[256];

	set_conf(ENTRIES);
	set_env("DAPL_OFI_LOG", "2");
	/* The same port, which is the low 16 bits. */
	ASSERT_EQ(run_player("meet", f->rule, f->rule, "0x10000", NULL), 0);
	snprintf(pattern, sizeof(pattern),
		 "cannot connect to 127.0.0.1:[0-9]+ "
		 "[(]qualifier [0-9]+[)] over %s: no service point",
		 f->pattern);
	must_match(pattern);
	if (count_output_lines() == 1)
		return; /* no listener there */
	snprintf(pattern, sizeof(pattern),
		 "rejected 127.0.0.1:[0-9]+: no service point has "
		 "qualifier [0-9]+ [(]port [0-9]+, %s[)]",
		 f->pattern);
	must_match(pattern);
	ASSERT_EQ(count_output_lines(), 2);
}

TEST_ROWS(qualifier, fabrics, connect_to_other_qualifier)

static const struct pair {
	const char *rule;
	const char *from, *to;
	const char *active, *passive;
} pairs[] = {
	{ "tcp_to_rxm", "tcp", "rxm", "over tcp: no service point of this fabric",
	  "rejected 127.0.0.1:[0-9]+: expected a peer over rxm [(]transport [0-9]+[)], got "
	  "one over transport [0-9]+" },
	{ "tcp_to_shm", "tcp", "shm", "over tcp: no service point of this fabric", NULL },
	{ "shm_to_tcp", "shm", "tcp", "over shm: no service point of this fabric", NULL },
	{ "shm_to_rxm", "shm", "rxm", "over shm: no service point of this fabric", NULL },
	{ "rxm_to_tcp", "rxm", "tcp", "over rxm: no service point of this fabric",
	  "rejected 127.0.0.1:[0-9]+: expected a peer over tcp [(]transport [0-9]+[)], got "
	  "one over transport [0-9]+" },
	{ "rxm_to_constrained", "rxm", "constrained",
	  "over rxm: what listens there uses the fabric constrained",
	  "rejected 127.0.0.1:[0-9]+: expected a peer over constrained, got one over rxm" },
	{ "constrained_to_rxm_and_shm", "constrained", "rxm+shm",
	  "over constrained: what listens there uses the fabric rxm[+]shm",
	  "rejected 127.0.0.1:[0-9]+: expected a peer over rxm[+]shm, got one over constrained" },
};

static void connect_to_other_fabric(const void *row)
{
	const struct pair *p = row;
	char pattern[256];

	set_conf(ENTRIES);
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("meet", p->from, p->to, NULL), 0);
	snprintf(pattern, sizeof(pattern),
		 "cannot connect to 127.0.0.1:[0-9]+ "
		 "[(]qualifier [0-9]+[)] %s",
		 p->active);
	must_match(pattern);
	if (p->passive)
		must_match(p->passive);
	ASSERT_EQ(count_output_lines(), p->passive ? 2 : 1);
}

TEST_ROWS(foreign, pairs, connect_to_other_fabric)

static void connect_without_answer(const void *row)
{
	const struct fabric *f = row;
	char pattern[256];

	set_conf(ENTRIES);
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("meet", f->rule, f->rule, "0", "300000", NULL), 0);
	snprintf(pattern, sizeof(pattern),
		 "cannot connect to 127.0.0.1:[0-9]+ "
		 "[(]qualifier [0-9]+[)] over %s: no answer within the timeout",
		 f->pattern);
	must_match(pattern);
	ASSERT_EQ(count_output_lines(), 1);
}

TEST_ROWS(timeout, fabrics, connect_without_answer)

/* 240.0.0.0/4 is unreachable. */
static void connect_to_no_host(const void *row)
{
	const struct fabric *f = row;
	char pattern[256];

	set_conf(ENTRIES);
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("connect", f->rule, "240.0.0.1", "5000", "2000000", NULL), 0);
	snprintf(pattern, sizeof(pattern),
		 "cannot connect to 240.0.0.1:5000 [(]qualifier 5000[)] "
		 "over %s: ",
		 f->pattern);
	must_match(pattern);
	ASSERT_EQ(count_output_lines(), 1);
}

TEST_ROWS(no_host, fabrics, connect_to_no_host)

/* Skips if it cannot. */
static void prohibit_a_network(void)
{
	if ((unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) ||
	    system("ip link set lo up && ip route add prohibit 198.51.100.0/24"))
		_exit(77);
}

static void connect_to_prohibited_host(const void *row)
{
	const struct fabric *f = row;
	char pattern[256];
	int status;

	set_conf(ENTRIES);
	set_env("DAPL_OFI_LOG", "2");
	set_child_hook(prohibit_a_network);
	status = run_player("connect", f->rule, "198.51.100.1", "5000", "2000000", NULL);
	if (status == 77)
		dt_skip("a network namespace with a prohibited route cannot be created");
	ASSERT_EQ(status, 0);
	snprintf(pattern, sizeof(pattern),
		 "cannot connect to 198.51.100.1:5000 [(]qualifier 5000[)] over %s: ", f->pattern);
	must_match(pattern);
	/* shm asks the kernel for no route. */
	if (strcmp(f->rule, "shm"))
		expect_output("; try: check the routes and the firewall of this host\n");
	ASSERT_EQ(count_output_lines(), 1);
}

TEST_ROWS(prohibited_host, fabrics, connect_to_prohibited_host)

static void level_4(const void *row)
{
	const struct fabric *f = row;

	set_conf(ENTRIES);
	set_env("DAPL_OFI_LOG", "4");
	ASSERT_EQ(run_player("session", f->rule, NULL), 0);
	expect_output("connecting to 127.0.0.1:");
	expect_output("127.0.0.1:");
	expect_output(" requests a connection (port ");
	expect_output("connected to 127.0.0.1:");
}

TEST_ROWS(level_4, fabrics, level_4)
