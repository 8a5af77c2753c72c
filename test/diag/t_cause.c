/* SPDX-License-Identifier: BSD-2-Clause */
/* The printed paragraph names the cause and the remedy. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

#define GOOD "provider=tcp domain=127.0.0.1"

/* At most ten lines, the first says what was asked, the last what to do. */
static void check_paragraph(const char *name)
{
	char first[128];
	const char *last = strrchr(told(), '\n');

	snprintf(first, sizeof(first), LIB ": cannot open IA \"%s\" (" V ", nonthreadsafe): ",
		 name);
	ASSERT(!strncmp(told(), first, strlen(first)));
	ASSERT(lines_told() <= 10);
	ASSERT(last && last > told());
	while (last > told() && last[-1] != '\n')
		last--;
	if (strncmp(last, "  try: ", 7))
		FAIL("the last line is no remedy: %s", last);
}

TEST(cause, success_is_silent)
{
	give_conf(LINE("good", GOOD));
	ASSERT_EQ(play("open", "good", NULL), 0);
	must_be_silent();
}

TEST(cause, wrong_name)
{
	give_conf(LINE("roce0", GOOD));
	ASSERT_EQ(play("open", "roce1", NULL), 1);
	check_paragraph("roce1");
	must_say("no entry has this name");
	must_say(conf_path());
	must_say("  try: \"roce0\" instead of \"roce1\"");
}

TEST(cause, missing_library)
{
	give_conf("a u" V " nonthreadsafe default libnothere.so.1 dapl." V " \"\" \"\"\n");
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say(conf_path());
	must_say(":1: libnothere.so.1: cannot open shared object file: No such file");
	must_say("  try: install libnothere.so.1, or correct the library in ");
}

TEST(cause, broken_line)
{
	give_conf("# mine\na u" V " perhaps default " TEST_PROVIDER " dapl." V " \"\" \"\"\n");
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("dat.conf:2: expected threadsafe or nonthreadsafe, found \"perhaps\"\n");
	must_say("  try: correct ");
	must_say("dat.conf:2 to: NAME u" V " nonthreadsafe default LIBRARY ");
}

TEST(cause, unreadable_registry)
{
	give_env("DAT_OVERRIDE", "/no/such/file");
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("/no/such/file (DAT_OVERRIDE): No such file");
	must_say("  try: unset DAT_OVERRIDE");
}

TEST(cause, unknown_fabric)
{
	give_conf(LINE("a", "provider=tpc"));
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("provider: fabric 'tpc' is not supported; known: tcp, verbs, shm, rxm, efa, psm3, "
		 "cxi, opx, tcp+shm, rxm+shm, efa+shm, psm3+shm, cxi+shm, opx+shm\n");
	must_say("  try: provider=tcp in the registry entry, or DAPL_OFI_PROVIDER=tcp\n");
}

TEST(cause, no_such_interface)
{
	give_conf(LINE("a", "domain=loo"));
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("no interface or address 'loo' on this host\n");
	must_say("interfaces with an address: ");
	must_say("asked for: \"domain=loo\"\n");
	must_say("lo 127.0.0.1");
	must_say("  try: domain=lo in the registry entry, or DAPL_OFI_DOMAIN=lo\n");
}

/* A host of its own, with one interface that is down. */
static void leave_network(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		_exit(77);
}

static void set_up_without_address(void)
{
	struct { struct in6_addr addr; uint32_t bits; int index; } six = { .bits = 128 };
	struct ifreq req;
	int fd;

	leave_network();
	memset(&req, 0, sizeof(req));
	strcpy(req.ifr_name, "lo");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	req.ifr_flags = IFF_UP;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req))
		_exit(77);
	memset(&req.ifr_addr, 0, sizeof(req.ifr_addr));
	req.ifr_addr.sa_family = AF_INET;
	if (ioctl(fd, SIOCSIFADDR, &req))
		_exit(77);
	close(fd);
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	six.addr = in6addr_loopback;
	six.index = (int)if_nametoindex("lo");
	if (fd >= 0)
		ioctl(fd, SIOCDIFADDR, &six);
	close(fd);
}

static void play_elsewhere(void (*where)(void))
{
	int status;

	give_change(where);
	status = play("open", "a", NULL);
	if (status == 77)
		dt_skip("no network of our own may be made here");
	ASSERT_EQ(status, 1);
	check_paragraph("a");
}

TEST(cause, interface_down)
{
	give_conf(LINE("a", "domain=lo"));
	play_elsewhere(leave_network);
	must_say("interface 'lo' is down\n");
	must_say("  try: ip link set lo up");
}

TEST(cause, interface_without_address)
{
	give_conf(LINE("a", "domain=lo"));
	play_elsewhere(set_up_without_address);
	must_say("interface 'lo' has no IP address\n");
	must_say("  try: ip address add ADDRESS/BITS dev lo");
}

TEST(cause, no_address_at_all)
{
	give_conf(LINE("a", ""));
	play_elsewhere(leave_network);
	must_say("this host has no interface with an IP address that is up\n");
	must_say("  try: ip address");
}

TEST(cause, hidden_provider)
{
	give_conf(LINE("a", GOOD));
	give_env("FI_PROVIDER", "udp");
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("FI_PROVIDER=udp in the environment hides provider 'tcp'\n");
	must_say("fabrics found: ");
	must_say("(no connected endpoints)");
	must_say("  try: unset FI_PROVIDER");
}

static const char *shim_path(void)
{
	static char path[1024];
	const char *old = getenv("LD_LIBRARY_PATH");

	snprintf(path, sizeof(path), "%s:%s", TEST_SHIM_DIR, old ? old : "");
	return path;
}

struct hint {
	const char *rule;
	const char *shim;
	const char *reason;
	const char *remedy;
};

static const struct hint hints[] = {
	{ "address", "address", "does not offer the interface's address (interface lo)\n",
	  "  try: DAPL_OFI_DOMAIN with another interface" },
	{ "type", "type", "does not offer that kind of endpoint (interface lo)\n",
	  "  try: fi_info -p tcp -v" },
	{ "caps", "caps", "does not offer messages together with RDMA (interface lo)\n",
	  "  try: fi_info -p tcp -v" },
};

/* Tools show the first line of the provider alone. */
static void first_reason_is(const char *words)
{
	static const char mark[] = "  provider: ";
	const char *line = strstr(told(), mark);

	if (!line)
		FAIL("the provider says nothing:\n%.1500s", told());
	line += sizeof(mark) - 1;
	if (!strstr(line, words) || strstr(line, words) > strchr(line, '\n'))
		FAIL("\"%s\" is not in the first line of the provider:\n%.1500s", words, told());
}

static void relaxed_hint(const void *row)
{
	const struct hint *hint = row;

	give_conf(LINE("a", GOOD));
	give_env("LD_LIBRARY_PATH", shim_path());
	give_env("SHIM", hint->shim);
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_not_say("No data available");
	first_reason_is(hint->reason);
	must_say("fabrics found: tcp (see above); ");
	must_say(hint->remedy);
}

TEST_ROWS(hint, hints, relaxed_hint)

TEST(cause, no_libfabric)
{
	static char path[1024], broken[128];
	const char *old = getenv("LD_LIBRARY_PATH");
	int fd;

	give_conf(LINE("a", GOOD));
	snprintf(broken, sizeof(broken), "%s/libfabric.so.1", work_dir());
	fd = open(broken, O_WRONLY | O_CREAT, 0755);
	ASSERT(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s:%s", work_dir(), old ? old : "");
	give_env("LD_LIBRARY_PATH", path);
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("libfabric cannot be loaded: ");
	must_say("  try: install libfabric");
}

static void limit_locked_memory(void)
{
	struct rlimit limit = { 64 * 1024, 64 * 1024 };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		_exit(99);
}

TEST(cause, provider_that_libfabric_lacks)
{
	give_conf(LINE("a", "provider=efa domain=127.0.0.1"));
	if (play("open", "a", NULL) == 0)
		dt_skip("there is EFA here");
	check_paragraph("a");
	must_not_say("No data available");
}

static rlim_t max_files;

static void limit_files(void)
{
	struct rlimit limit = { max_files, max_files };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		_exit(99);
}

/* Wherever the first descriptor is missing, what is missing is told. */
TEST(cause, no_more_descriptors)
{
	/* Not by libtool's script: a shell needs descriptors, too. */
	static char libs[512] = TEST_PLAYER_ITSELF;
	int failures = 0;

	strcpy(strstr(libs, "/test/diag/.libs/"), "/.libs");
	give_path(libs);
	give_conf(LINE("a", GOOD));
	give_change(limit_files);
	for (max_files = 6; max_files < 48; max_files++) {
		if (play("open", "a", NULL) == 0)
			break;
		if (!*told())
			continue;	/* the program itself did not get so far */
		failures++;
		check_paragraph("a");
		must_say("this process can open ");
		must_say("  try: raise the limit of open files (ulimit -n)\n");
	}
	ASSERT(max_files < 48 && failures > 2);
}

TEST(cause, name_with_other_thread_safety)
{
	char words[256];

	give_conf("roce0 u" V " threadsafe default " TEST_PROVIDER " dapl." V " \"" GOOD "\" \"\"\n"
		  LINE("roce1", GOOD));
	ASSERT_EQ(play("open", "roce0", NULL), 1);
	check_paragraph("roce0");
	must_say("the registry has this name as " V " threadsafe\n");
	snprintf(words, sizeof(words), "  try: add a line for it to %s with nonthreadsafe as its "
		 "third field\n", conf_path());
	must_say(words);
}

TEST(cause, name_of_another_version)
{
	char words[256];

	give_conf("roce0 u9.0 nonthreadsafe default " TEST_PROVIDER " dapl.9.0 \"" GOOD "\" \"\"\n"
		  LINE("roce1", GOOD));
	ASSERT_EQ(play("open", "roce0", NULL), 1);
	check_paragraph("roce0");
	must_say("the registry has this name as 9.0 nonthreadsafe\n");
	snprintf(words, sizeof(words), "  try: add a line for it to %s: roce0 u" V " nonthreadsafe "
		 "default libdaplofi.so." SOVERSION " ...\n", conf_path());
	must_say(words);
}

TEST(cause, legacy_name_without_rdma_device)
{
	give_conf(LINE("ofa-v2-mlx9_9-1u", "") LINE("other", ""));
	give_env("DAPL_OFI_DOMAIN", "127.0.0.1");
	ASSERT_EQ(play("open", "ofa-v2-mlx9_9-1u", NULL), 0);
	must_be_silent();
	give_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(play("open", "ofa-v2-mlx9_9-1u", NULL), 0);
	must_say("\"ofa-v2-mlx9_9-1u\" is the name of an RDMA adapter, and no RDMA device is ready "
		 "for it: tcp+shm on lo is used; try: ");
	ASSERT_EQ(lines_told(), 1);
	/* An entry that says which fabric, and names that promise nothing, are no surprise. */
	ASSERT_EQ(play("open", "other", NULL), 0);
	must_be_silent();
	give_conf(LINE("ib0", GOOD));
	ASSERT_EQ(play("open", "ib0", NULL), 0);
	must_be_silent();
}

TEST(cause, memlock_at_open)
{
	give_conf(LINE("a", GOOD));
	give_env("LD_LIBRARY_PATH", shim_path());
	give_env("SHIM", "domain");
	give_change(limit_locked_memory);
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("fi_domain failed on provider 'tcp'");
	must_say("the memory-lock limit of this process is 64 KiB");
	must_say("  try: ulimit -l unlimited");
}

/* A socket of ours that listens, and its port. */
static int busy_port(char port[8])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ASSERT(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 1));
	ASSERT(!getsockname(fd, (struct sockaddr *)&addr, &len));
	snprintf(port, 8, "%u", ntohs(addr.sin_port));
	return fd;
}

static void say_owner(const char *port)
{
	char words[128];

	snprintf(words, sizeof(words), "cannot listen on port %s: it is in use by process %ld (",
		 port, (long)getpid());
	must_say(words);
	must_say("; try: another connection qualifier, or end that process\n");
}

TEST(cause, busy_port)
{
	char port[8];
	int fd = busy_port(port);

	give_conf(LINE("a", GOOD));
	ASSERT_EQ(play("port", "a", port, NULL), 1);
	say_owner(port);
	ASSERT_EQ(lines_told(), 1);
	close(fd);
}

TEST(cause, busy_port_then_a_free_one)
{
	char busy[8], unused[8];
	int fd = busy_port(busy);

	close(busy_port(unused));
	give_conf(LINE("a", GOOD));
	ASSERT_EQ(play("port", "a", busy, busy, unused, NULL), 0);
	must_be_silent();
	give_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(play("port", "a", busy, unused, NULL), 0);
	say_owner(busy);
	close(fd);
}

TEST(cause, misspelt_setting)
{
	give_conf(LINE("a", "domain=lo"));
	give_env("DAPL_OFI_DOMAIN", "loo");
	give_env("DAPL_OFI_DOMIAN", "lo");
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("asked for: \"domain=lo\", DAPL_OFI_DOMAIN=loo\n");
	must_say("DAPL_OFI_DOMIAN in the environment is no setting; did you mean "
		 "DAPL_OFI_DOMAIN?\n");
}

TEST(cause, misspelt_parameter)
{
	give_conf(LINE("a", "provdier=shm domain=loo"));
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("\"provdier=shm\" is no parameter of an adapter and is ignored; did you mean "
		 "provider=?\n");
}

static void secret(const char *text, mode_t mode, const char *why, const char *remedy)
{
	char path[128], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/secret", work_dir());
	unlink(path);
	if (text) {
		f = fopen(path, "w");
		ASSERT(f != NULL);
		fputs(text, f);
		fclose(f);
		ASSERT_EQ(chmod(path, mode), 0);
	}
	give_conf(LINE("a", "provider=shm domain=lo"));
	give_env("DAPL_OFI_CM_SECRET_FILE", path);
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	snprintf(line, sizeof(line), "DAPL_OFI_CM_SECRET_FILE=%s cannot be used: %s\n", path, why);
	must_say(line);
	snprintf(line, sizeof(line), "  try: %s", remedy);
	must_say(line);
	ASSERT(!strstr(told(), "memory-lock"));
}

TEST(cause, secret_that_others_may_read)
{
	secret("0123456789abcdef", 0644, "others than its owner and group may read or write it",
	       "chmod o= ");
}

TEST(cause, secret_that_is_short_or_missing)
{
	secret("0123", 0600, "it has less than 16 bytes",
	       "let DAPL_OFI_CM_SECRET_FILE name a readable file");
	secret(NULL, 0, "No such file or directory",
	       "let DAPL_OFI_CM_SECRET_FILE name a readable file");
}

/* What would open next lets everybody in. Said once, not for each fabric. */
TEST(cause, secret_that_cannot_be_used_leaves_no_fabric_without_one)
{
	give_conf(LINE("a", "domain=lo"));
	ASSERT_EQ(play("open", "a", NULL), 0);
	give_env("DAPL_OFI_CM_SECRET_FILE", "/no/such/secret");
	ASSERT_EQ(play("open", "a", NULL), 1);
	check_paragraph("a");
	must_say("DAPL_OFI_CM_SECRET_FILE=/no/such/secret cannot be used: No such file");
	ASSERT(!strstr(strstr(told(), "cannot be used") + 1, "cannot be used"));
	must_say("  try: let DAPL_OFI_CM_SECRET_FILE name a readable file");
}

TEST(probing, one_entry_works)
{
	give_conf(LINE("a", "domain=loo") LINE("b", "provider=none") LINE("c", GOOD));
	ASSERT_EQ(play("probe", "a", "b", "c", NULL), 0);
	must_be_silent();
}

TEST(probing, none_works)
{
	give_conf(LINE("a", "domain=loo") LINE("b", "provider=none"));
	ASSERT_EQ(play("probe", "a", "b", NULL), 1);
	must_say(LIB ": 2 attempts to open an IA failed and none succeeded\n");
	must_say("  \"a\": ");
	must_say("  \"b\": ");
	must_say("  try: dat_info -l");
	ASSERT(lines_told() <= 10);
}
