/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the report of a failed open names the cause and the remedy. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

#define GOOD "provider=tcp domain=127.0.0.1"
#define NO_NAMESPACE "no permission to create a network namespace"

/* At most ten lines; the first has the request, the last the remedy. */
static void check_paragraph(const char *name)
{
	char first[128];
	const char *last = strrchr(player_output(), '\n');

	snprintf(first, sizeof(first),
		 LIB ": cannot open IA \"%s\" (" V ", nonthreadsafe): ", name);
	ASSERT(!strncmp(player_output(), first, strlen(first)));
	ASSERT(count_output_lines() <= 10);
	ASSERT(last && last > player_output());
	while (last > player_output() && last[-1] != '\n')
		last--;
	if (strncmp(last, "  try: ", 7))
		FAIL("expected a remedy in the last line, got: %s", last);
}

TEST(cause, success_is_silent)
{
	set_conf(LINE("good", GOOD));
	ASSERT_EQ(run_player("open", "good", NULL), 0);
	expect_no_output();
}

TEST(cause, wrong_name)
{
	set_conf(LINE("roce0", GOOD));
	ASSERT_EQ(run_player("open", "roce1", NULL), 1);
	check_paragraph("roce1");
	expect_output("no entry has this name");
	expect_output(conf_path());
	expect_output("  try: \"roce0\" instead of \"roce1\"");
}

TEST(cause, missing_library)
{
	set_conf("a u" V " nonthreadsafe default libnothere.so.1 dapl." V " \"\" \"\"\n");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output(conf_path());
	expect_output(":1: libnothere.so.1: cannot open shared object file: No such file");
	expect_output("  try: install libnothere.so.1, or correct the library in ");
}

TEST(cause, broken_line)
{
	set_conf("# mine\na u" V " perhaps default " TEST_PROVIDER " dapl." V " \"\" \"\"\n");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("dat.conf:2: expected threadsafe or nonthreadsafe, found \"perhaps\"\n");
	expect_output("  try: correct ");
	expect_output("dat.conf:2 to: NAME u" V " nonthreadsafe default LIBRARY ");
}

TEST(cause, unreadable_registry)
{
	set_env("DAT_OVERRIDE", "/no/such/file");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("/no/such/file (DAT_OVERRIDE): No such file");
	expect_output("  try: unset DAT_OVERRIDE");
}

TEST(cause, unknown_fabric)
{
	set_conf(LINE("a", "provider=tpc"));
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output(
		"provider: fabric 'tpc' is not supported; known: tcp, verbs, shm, rxm, efa, psm3, "
		"cxi, opx, rxm-verbs, tcp+shm, rxm+shm, efa+shm, psm3+shm, cxi+shm, opx+shm, "
		"rxm-verbs+shm\n");
	expect_output("  try: provider=tcp in the registry entry, or DAPL_OFI_PROVIDER=tcp\n");
}

TEST(cause, no_device_below_the_interface)
{
	set_conf(LINE("a", "provider=rxm-verbs domain=lo"));
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("provider: no RDMA device, interface or address 'lo' that is ready\n");
	expect_output("RDMA devices with an address: ");
	expect_output("  try: rdma link (package iproute2): the state must be ACTIVE");
}

TEST(cause, no_such_interface)
{
	set_conf(LINE("a", "domain=loo"));
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("no interface or address 'loo' on this host\n");
	expect_output("interfaces with an address: ");
	expect_output("requested: \"domain=loo\"\n");
	expect_output("lo 127.0.0.1");
	expect_output("  try: domain=lo in the registry entry, or DAPL_OFI_DOMAIN=lo\n");
}

/* Enters a network namespace with one interface that is down. */
static void enter_network_namespace(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		_exit(77);
}

static void set_up_without_address(void)
{
	struct {
		struct in6_addr addr;
		uint32_t bits;
		int index;
	} six = { .bits = 128 };
	struct ifreq req;
	int fd;

	enter_network_namespace();
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

/* Opens "a" in a process that `change` has changed. `reason`: why it could not. */
static void fail_to_open_after(void (*change)(void), const char *reason)
{
	int status;

	set_child_hook(change);
	status = run_player("open", "a", NULL);
	if (status == 77)
		dt_skip("%s", reason);
	ASSERT_EQ(status, 1);
	check_paragraph("a");
}

TEST(cause, interface_down)
{
	set_conf(LINE("a", "domain=lo"));
	fail_to_open_after(enter_network_namespace, NO_NAMESPACE);
	expect_output("interface 'lo' is down\n");
	expect_output("  try: ip link set lo up");
}

TEST(cause, interface_without_address)
{
	set_conf(LINE("a", "domain=lo"));
	fail_to_open_after(set_up_without_address, NO_NAMESPACE);
	expect_output("interface 'lo' has no IP address\n");
	expect_output("  try: ip address add ADDRESS/BITS dev lo");
}

TEST(cause, no_address_at_all)
{
	set_conf(LINE("a", ""));
	fail_to_open_after(enter_network_namespace, NO_NAMESPACE);
	expect_output("this host has no interface with an IP address that is up\n");
	expect_output("  try: ip address");
}

TEST(cause, hidden_provider)
{
	set_conf(LINE("a", GOOD));
	/* Every libfabric has this provider. */
	set_env("FI_PROVIDER", "shm");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("FI_PROVIDER=shm in the environment hides provider 'tcp'\n");
	expect_output("fabrics found: ");
	expect_output("(no connected endpoints)");
	expect_output("  try: unset FI_PROVIDER");
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
	{ "address", "address", "does not support the interface's address (interface lo)\n",
	  "  try: DAPL_OFI_DOMAIN with another interface" },
	{ "type", "type", "does not support the endpoint type (interface lo)\n",
	  "  try: fi_info -p tcp -v" },
	{ "caps", "caps", "does not support messages together with RDMA (interface lo)\n",
	  "  try: fi_info -p tcp -v" },
};

/* Tools show only the first line of the provider. */
static void expect_first_reason(const char *expected_text)
{
	static const char mark[] = "  provider: ";
	const char *line = strstr(player_output(), mark);

	if (!line)
		FAIL("no line of the provider in:\n%.1500s", player_output());
	line += sizeof(mark) - 1;
	if (!strstr(line, expected_text) || strstr(line, expected_text) > strchr(line, '\n'))
		FAIL("\"%s\" is not in the first line of the provider:\n%.1500s", expected_text,
		     player_output());
}

static void check_relaxed_hint(const void *row)
{
	const struct hint *hint = row;

	set_conf(LINE("a", GOOD));
	set_env("LD_LIBRARY_PATH", shim_path());
	set_env("SHIM", hint->shim);
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_not_in_output("No data available");
	expect_first_reason(hint->reason);
	expect_output("fabrics found: tcp (see above); ");
	expect_output(hint->remedy);
}

TEST_ROWS(hint, hints, check_relaxed_hint)

/* The loader finds a file that is no library. */
static void hide_libfabric(void)
{
	static char path[1024], broken[128];
	const char *old = getenv("LD_LIBRARY_PATH");
	int fd;

	snprintf(broken, sizeof(broken), "%s/libfabric.so.1", work_dir());
	fd = open(broken, O_WRONLY | O_CREAT, 0755);
	ASSERT(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s:%s", work_dir(), old ? old : "");
	set_env("LD_LIBRARY_PATH", path);
}

TEST(cause, no_libfabric)
{
	set_conf(LINE("a", GOOD));
	hide_libfabric();
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("libfabric cannot be loaded: ");
	expect_output("  try: install libfabric");
}

TEST(cause, shm_needs_no_libfabric)
{
	set_conf(LINE("a", "provider=shm domain=127.0.0.1"));
	hide_libfabric();
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_not_in_output("libfabric");
}

/* The list of all providers is made only to explain a failure. */
TEST(cause, an_open_queries_its_provider_only)
{
	set_conf(LINE("a", GOOD));
	set_env("LD_LIBRARY_PATH", shim_path());
	set_env("SHIM", "unnamed");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	/* The shim fails, indeed. */
	set_env("FI_PROVIDER", "udp");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	expect_output("fabrics found: none");
}

static void limit_locked_memory(void)
{
	struct rlimit limit = { 64 * 1024, 64 * 1024 };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		_exit(99);
}

TEST(cause, provider_that_libfabric_lacks)
{
	set_conf(LINE("a", "provider=efa domain=127.0.0.1"));
	if (run_player("open", "a", NULL) == 0)
		dt_skip("this host has an EFA device");
	check_paragraph("a");
	expect_not_in_output("No data available");
}

static rlim_t max_files;

static void limit_files(void)
{
	struct rlimit limit = { max_files, max_files };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		_exit(99);
}

/* With any limit of descriptors, the report names it. */
TEST(cause, no_more_descriptors)
{
	/* Not through libtool's script: a shell needs descriptors, too. */
	static char libs[512] = TEST_PLAYER_ITSELF;
	int failures = 0;

	strcpy(strstr(libs, "/test/diag/.libs/"), "/.libs");
	set_library_path(libs);
	set_conf(LINE("a", GOOD));
	set_child_hook(limit_files);
	for (max_files = 6; max_files < 48; max_files++) {
		if (run_player("open", "a", NULL) == 0)
			break;
		if (!*player_output())
			continue; /* the program itself failed earlier */
		failures++;
		check_paragraph("a");
		expect_output("this process can open ");
		expect_output("  try: raise the limit of open files (ulimit -n)\n");
	}
	ASSERT(max_files < 48 && failures > 2);
}

/* What sandboxes do. */
static void forbid_epoll(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_create1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(77);
}

TEST(cause, system_call_that_is_not_permitted)
{
	set_conf(LINE("a", GOOD));
	fail_to_open_after(forbid_epoll, "no filter of system calls can be installed");
	expect_output("provider: cannot create the adapter: Operation not permitted\n");
	expect_output("  try: a container or sandbox that permits epoll, ");
}

TEST(cause, name_with_other_thread_safety)
{
	char expected_text[256];

	set_conf("roce0 u" V " threadsafe default " TEST_PROVIDER " dapl." V " \"" GOOD
		 "\" \"\"\n" LINE("roce1", GOOD));
	ASSERT_EQ(run_player("open", "roce0", NULL), 1);
	check_paragraph("roce0");
	expect_output("the registry has this name as " V " threadsafe\n");
	snprintf(expected_text, sizeof(expected_text),
		 "  try: add a line for it to %s with nonthreadsafe as its "
		 "third field\n",
		 conf_path());
	expect_output(expected_text);
}

TEST(cause, name_of_another_version)
{
	char expected_text[256];

	set_conf("roce0 u9.0 nonthreadsafe default " TEST_PROVIDER " dapl.9.0 \"" GOOD
		 "\" \"\"\n" LINE("roce1", GOOD));
	ASSERT_EQ(run_player("open", "roce0", NULL), 1);
	check_paragraph("roce0");
	expect_output("the registry has this name as 9.0 nonthreadsafe\n");
	snprintf(expected_text, sizeof(expected_text),
		 "  try: add a line for it to %s: roce0 u" V " nonthreadsafe "
		 "default libdaplofi.so." SOVERSION " ...\n",
		 conf_path());
	expect_output(expected_text);
}

TEST(cause, legacy_name_without_rdma_device)
{
	set_conf(LINE("ofa-v2-mlx9_9-1u", "") LINE("other", ""));
	set_env("DAPL_OFI_DOMAIN", "127.0.0.1");
	ASSERT_EQ(run_player("open", "ofa-v2-mlx9_9-1u", NULL), 0);
	expect_no_output();
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("open", "ofa-v2-mlx9_9-1u", NULL), 0);
	expect_output(
		"\"ofa-v2-mlx9_9-1u\" is the name of an RDMA adapter, and no RDMA device is ready: "
		"tcp+shm on lo is used; try: ");
	ASSERT_EQ(count_output_lines(), 1);
	/* No warning for an entry that names its fabric, nor for generic names. */
	ASSERT_EQ(run_player("open", "other", NULL), 0);
	expect_no_output();
	set_conf(LINE("ib0", GOOD));
	ASSERT_EQ(run_player("open", "ib0", NULL), 0);
	expect_no_output();
}

TEST(cause, memlock_at_open)
{
	set_conf(LINE("a", GOOD));
	set_env("LD_LIBRARY_PATH", shim_path());
	set_env("SHIM", "domain");
	set_child_hook(limit_locked_memory);
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("fi_domain failed on provider 'tcp'");
	expect_output("the memory-lock limit of this process is 64 KiB");
	expect_output("  try: ulimit -l unlimited");
}

/* Opens a listening socket and returns its port. */
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

static void expect_owner(const char *port)
{
	char expected_text[128];

	snprintf(expected_text, sizeof(expected_text),
		 "cannot listen on port %s: it is in use by process %ld (", port, (long)getpid());
	expect_output(expected_text);
	expect_output("; try: another connection qualifier, or end that process\n");
}

TEST(cause, busy_port)
{
	char port[8];
	int fd = busy_port(port);

	set_conf(LINE("a", GOOD));
	ASSERT_EQ(run_player("port", "a", port, NULL), 1);
	expect_owner(port);
	ASSERT_EQ(count_output_lines(), 1);
	close(fd);
}

TEST(cause, busy_port_then_a_free_one)
{
	char busy[8], unused[8];
	int fd = busy_port(busy);

	close(busy_port(unused));
	set_conf(LINE("a", GOOD));
	ASSERT_EQ(run_player("port", "a", busy, busy, unused, NULL), 0);
	expect_no_output();
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("port", "a", busy, unused, NULL), 0);
	expect_owner(busy);
	close(fd);
}

TEST(cause, misspelt_setting)
{
	set_conf(LINE("a", "domain=lo"));
	set_env("DAPL_OFI_DOMAIN", "loo");
	set_env("DAPL_OFI_DOMIAN", "lo");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("requested: \"domain=lo\", DAPL_OFI_DOMAIN=loo\n");
	expect_output("unknown setting DAPL_OFI_DOMIAN in the environment; did you mean "
		      "DAPL_OFI_DOMAIN?\n");
}

TEST(cause, misspelt_parameter)
{
	set_conf(LINE("a", "provdier=shm domain=loo"));
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("unknown parameter \"provdier=shm\" is ignored; did you mean provider=?\n");
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
	set_conf(LINE("a", "provider=shm domain=lo"));
	set_env("DAPL_OFI_CM_SECRET_FILE", path);
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	snprintf(line, sizeof(line), "DAPL_OFI_CM_SECRET_FILE=%s cannot be used: %s\n", path, why);
	expect_output(line);
	snprintf(line, sizeof(line), "  try: %s", remedy);
	expect_output(line);
	ASSERT(!strstr(player_output(), "memory-lock"));
}

TEST(cause, secret_that_others_may_read)
{
	secret("0123456789abcdef", 0644, "others than its owner and group may read or write it",
	       "chmod o= ");
}

TEST(cause, secret_that_is_short_or_missing)
{
	secret("0123", 0600, "it has fewer than 16 bytes",
	       "let DAPL_OFI_CM_SECRET_FILE name a readable file");
	secret(NULL, 0, "No such file or directory",
	       "let DAPL_OFI_CM_SECRET_FILE name a readable file");
}

/* No fallback to a fabric without the secret. Reported once, not for each fabric. */
TEST(cause, secret_that_cannot_be_used_leaves_no_fabric_without_one)
{
	set_conf(LINE("a", "domain=lo"));
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	set_env("DAPL_OFI_CM_SECRET_FILE", "/no/such/secret");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	check_paragraph("a");
	expect_output("DAPL_OFI_CM_SECRET_FILE=/no/such/secret cannot be used: No such file");
	ASSERT(!strstr(strstr(player_output(), "cannot be used") + 1, "cannot be used"));
	expect_output("  try: let DAPL_OFI_CM_SECRET_FILE name a readable file");
}

TEST(probing, one_entry_works)
{
	set_conf(LINE("a", "domain=loo") LINE("b", "provider=none") LINE("c", GOOD));
	ASSERT_EQ(run_player("probe", "a", "b", "c", NULL), 0);
	expect_no_output();
}

TEST(probing, none_works)
{
	set_conf(LINE("a", "domain=loo") LINE("b", "provider=none"));
	ASSERT_EQ(run_player("probe", "a", "b", NULL), 1);
	expect_output(LIB ": 2 attempts to open an IA failed and none succeeded\n");
	expect_output("  \"a\": ");
	expect_output("  \"b\": ");
	expect_output("  try: dat_info -l");
	ASSERT(count_output_lines() <= 10);
}
