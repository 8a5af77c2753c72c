/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the counters of EVDs, and the calls that reset, stop and print counters. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ext.h"

#define EVD_ALL DCNT_EVD_ALL_COUNTERS

static DAT_UINT64 count_of(DAT_HANDLE handle, int which)
{
	DAT_UINT64 n = ~(DAT_UINT64)0;

	OK(dat_ib_query_counters(handle, which, &n, 0));
	return n;
}

#define EVD_COUNT(evd_, which_, n_) ASSERT_EQ(count_of(evd_, DCNT_EVD_##which_), n_)

TEST(counters, dequeues_found_and_not_found)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	for (unsigned int i = 0; i < 5; i++)
		OK(post_se(evd, i));
	for (unsigned int i = 0; i < 7; i++)
		ASSERT_EQ(dat_evd_dequeue(evd, &ev), i < 5 ? DAT_SUCCESS : DAT_QUEUE_EMPTY);
	EVD_COUNT(evd, DEQUEUE, 7);
	EVD_COUNT(evd, DEQUEUE_FOUND, 5);
	EVD_COUNT(evd, DEQUEUE_NOT_FOUND, 2);
	EVD_COUNT(evd, DEQUEUE_POLL, 0); /* it has no completion queue */
	EVD_COUNT(evd, DEQUEUE_POLL_FOUND, 0);
	EVD_COUNT(evd, CONN_CALLBACK, 0);
	EVD_COUNT(evd, DTO_CALLBACK, 0);
	EVD_COUNT(evd, WAIT, 0);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(counters, polls_of_a_completion_queue)
{
	unsigned int calls = 0, found = 0;
	DAT_EVENT ev;
	struct pair p;

	pair_up(&p);
	for (unsigned int i = 0; i < 50; i++) {
		OK(post_recv(&p.b, 0, 100, i));
		OK(post_send(&p.a, 0, 100, i));
		do
			calls++;
		while (dat_evd_dequeue(p.b.recv, &ev) != DAT_SUCCESS);
		found++;
		CHECK_DTO(&ev, p.b.recv, p.b.ep, i, OP_RECV, 100);
		EV_DTO(p.a.req, p.a.ep, i, OP_SEND, 100);
	}
	EVD_COUNT(p.b.recv, DEQUEUE, calls);
	EVD_COUNT(p.b.recv, DEQUEUE_FOUND, found);
	EVD_COUNT(p.b.recv, DEQUEUE_NOT_FOUND, calls - found);
	EVD_COUNT(p.b.recv, DTO_CALLBACK, 50);
	/* A completion that another thread has queued is taken without a poll. */
	ASSERT(count_of(p.b.recv, DCNT_EVD_DEQUEUE_POLL) <= calls);
	ASSERT(count_of(p.b.recv, DCNT_EVD_DEQUEUE_POLL) >= calls - found);
	ASSERT(count_of(p.b.recv, DCNT_EVD_DEQUEUE_POLL_FOUND) <= found);
	pair_close(&p);
}

static void post_late(void *evd)
{
	dt_sleep_us(US_SHORT);
	OK(post_se(evd, 1));
}

TEST(counters, waits_that_sleep_and_are_woken)
{
	struct dt_thread t;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;
	DAT_EVENT ev;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	OK(post_se(evd, 5));
	OK(dat_evd_wait(evd, US_EVENT, 1, &ev, &more));
	EVD_COUNT(evd, WAIT, 1);
	EVD_COUNT(evd, WAIT_BLOCKED, 0);
	EVD_COUNT(evd, WAIT_NOTIFY, 0);
	dt_thread_start(&t, post_late, evd);
	OK(dat_evd_wait(evd, US_EVENT, 1, &ev, &more));
	dt_thread_join(&t);
	EVD_COUNT(evd, WAIT, 2);
	ASSERT(count_of(evd, DCNT_EVD_WAIT_BLOCKED) >= 1);
	EVD_COUNT(evd, WAIT_NOTIFY, 1);
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_wait(evd, 1000, 1, &ev, &more)), DAT_TIMEOUT_EXPIRED);
	EVD_COUNT(evd, WAIT, 3);
	EVD_COUNT(evd, WAIT_NOTIFY, 1);
	EVD_COUNT(evd, DEQUEUE, 0);
	EVD_COUNT(evd, DEQUEUE_FOUND, 0);
	/* A call with a bad argument does not wait. */
	BAD_ARG(dat_evd_wait(evd, 1000, 0, &ev, &more), 3);
	EVD_COUNT(evd, WAIT, 3);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(counters, notifications_of_a_cno)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, who;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	EVD_COUNT(evd, WAIT_NOTIFY, 1);
	OK(dat_cno_wait(cno, US_EVENT, &who));
	OK(dat_evd_disable(evd));
	OK(post_se(evd, 2));
	EVD_COUNT(evd, WAIT_NOTIFY, 1);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

/* ---- reset, stop, print ---- */

TEST(counters, reset_of_one_leaves_the_others)
{
	DAT_UINT64 n, all[EVD_ALL];
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	struct node node;

	node_open(&node);
	evd = evd_make(&node, 8, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	OK(dat_ib_query_counters(evd, DCNT_EVD_DEQUEUE, &n, 1));
	ASSERT_EQ(n, 3); /* what it was before */
	EVD_COUNT(evd, DEQUEUE, 0);
	EVD_COUNT(evd, DEQUEUE_NOT_FOUND, 3);
	ASSERT_EQ(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	EVD_COUNT(evd, DEQUEUE, 1);
	EVD_COUNT(evd, DEQUEUE_NOT_FOUND, 4);
	OK(dat_ib_query_counters(evd, EVD_ALL, all, 1));
	ASSERT_EQ(all[DCNT_EVD_DEQUEUE], 1);
	ASSERT_EQ(all[DCNT_EVD_DEQUEUE_NOT_FOUND], 4);
	for (int i = 0; i < EVD_ALL; i++)
		ASSERT_EQ(count_of(evd, i), 0);
	/* Another object has its own. */
	OK(dat_ib_query_counters(node.ia, DCNT_IA_EVD_CREATE, &n, 0));
	ASSERT_EQ(n, 1);
	OK(dat_evd_free(evd));
	/* The next object in this memory is not reset. */
	evd = evd_make(&node, 8, DAT_EVD_SOFTWARE_FLAG);
	ASSERT_EQ(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	EVD_COUNT(evd, DEQUEUE, 1);
	OK(dat_evd_free(evd));
	node_close(&node);
}

static void connect_once(struct pair *p)
{
	pair_connect(p);
	pair_disconnect(p);
	OK(dat_ep_reset(p->a.ep));
	OK(dat_ep_reset(p->b.ep));
}

/* A stopped group keeps its values; what happens meanwhile is never counted. */
TEST(counters, stopped_ones_stand_still)
{
	struct pair p;

	pair_open(&p);
	OK(dat_ib_start_counter(p.node.ia, DCNT_IA_CM)); /* runs already */
	connect_once(&p);
	OK(dat_ib_stop_counter(p.node.ia, DCNT_IA_CM));
	OK(dat_ib_stop_counter(p.node.ia, DCNT_IA_CM));
	connect_once(&p);
	ASSERT_EQ(count_of(p.node.ia, DCNT_IA_CM_REQ_TX), 1);
	ASSERT_EQ(count_of(p.node.ia, DCNT_IA_SP_CR), 2); /* of no group */
	OK(dat_ib_start_counter(p.node.ia, DCNT_IA_CM));
	ASSERT_EQ(count_of(p.node.ia, DCNT_IA_CM_REQ_TX), 1);
	connect_once(&p);
	ASSERT_EQ(count_of(p.node.ia, DCNT_IA_CM_REQ_TX), 2);
	ASSERT_EQ(count_of(p.node.ia, DCNT_IA_SP_CR), 3);
	pair_close(&p);
}

TEST(counters, bad_arguments_change_nothing)
{
	DAT_UINT64 n = 7;
	DAT_EP_HANDLE freed;
	struct pair p;

	pair_up(&p);
	freed = p.a.ep;
	BAD_ARG(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS + 1, &n, 1), 2);
	BAD_ARG(dat_ib_query_counters(p.a.recv, DCNT_EVD_ALL_COUNTERS + 1, &n, 1), 2);
	BAD_ARG(dat_ib_query_counters(p.node.ia, DCNT_IA_ALL_COUNTERS + 1, &n, 1), 2);
	BAD_ARG(dat_ib_query_counters(p.a.ep, -1, &n, 1), 2);
	BAD_ARG(dat_ib_query_counters(p.a.ep, DCNT_EP_CONNECT, NULL, 1), 3);
	BAD_ARG(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, NULL, 1), 3);
	BAD_ARG(dat_ib_print_counters(p.a.ep, DCNT_EP_ALL_COUNTERS + 1, 1), 2);
	BAD_ARG(dat_ib_print_counters(p.a.ep, -1, 1), 2);
	/* Objects without counters. */
	ASSERT_RET(dat_ib_query_counters(p.node.pz, 0, &n, 1), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
	ASSERT_RET(dat_ib_print_counters(p.psp, 0, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ASSERT_RET(dat_ib_query_counters(DAT_HANDLE_NULL, 0, &n, 1), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
	BAD_HANDLE(dat_ib_start_counter(p.a.ep, DCNT_IA_CM), IA);
	BAD_HANDLE(dat_ib_stop_counter(p.a.recv, DCNT_IA_CM), IA);
	BAD_ARG(dat_ib_start_counter(p.node.ia, 3), 2);
	BAD_ARG(dat_ib_stop_counter(p.node.ia, -1), 2);
	ASSERT_EQ(n, 7);
	ASSERT_EQ(count_of(p.a.ep, DCNT_EP_CONNECT), 1);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = DAT_HANDLE_NULL;
	ASSERT_RET(dat_ib_query_counters(freed, DCNT_EP_CONNECT, &n, 0), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &p.a.ep));
	pair_close(&p);
}

static void put_number(const char *dir, const char *file, unsigned int n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "we");
	ASSERT(f != NULL);
	fprintf(f, "%u\n", n);
	ASSERT_EQ(fclose(f), 0);
}

/* The kernel's counters of an interface cannot be raised at will, so a folder takes their place, in
 * a mount namespace of this thread. */
TEST(counters, of_the_link_are_those_of_the_interface)
{
	static const char path[] = "/sys/class/net/lo/statistics";
	char dir[] = "/tmp/dat-statistics-XXXXXX";
	DAT_UINT64 n;
	struct node nd;

	if (fabric_is("verbs") || fabric_is("iwarp") || fabric_is("rxm-verbs"))
		dt_skip("the counters are those of the device");
	node_open(&nd);

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		dt_skip("no mount namespace: %s", strerror(errno));
	ASSERT(mkdtemp(dir) != NULL);
	if (mount("tmpfs", dir, "tmpfs", 0, NULL) || mount(dir, path, NULL, MS_BIND, NULL))
		dt_skip("%s cannot be mounted: %s", path, strerror(errno));
	put_number(dir, "rx_errors", 3);
	put_number(dir, "tx_dropped", 40);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_RCV), 3);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_XMT_DISCARDS), 40);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_INTEGRITY), 0);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_DIAG_ERR_SQ_TREE), 0);

	OK(dat_ib_query_counters(nd.ia, DCNT_IA_LNK_ERR_XMT_DISCARDS, &n, 1));
	put_number(dir, "tx_dropped", 45);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_XMT_DISCARDS), 5);
	OK(dat_ib_stop_counter(nd.ia, DCNT_IA_LNK));
	OK(dat_ib_stop_counter(nd.ia, DCNT_IA_DIAG));
	put_number(dir, "tx_dropped", 60);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_XMT_DISCARDS), 5);
	OK(dat_ib_start_counter(nd.ia, DCNT_IA_LNK));
	put_number(dir, "tx_dropped", 61);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_XMT_DISCARDS), 6);
	ASSERT_EQ(count_of(nd.ia, DCNT_IA_LNK_ERR_RCV), 3);
	umount(path);
	umount(dir);
	rmdir(dir);
	node_close(&nd);
}

/* What `fd` receives while the counters are printed; returns the length. */
static size_t printed(int fd, DAT_HANDLE handle, int which, char *text, size_t room)
{
	char name[] = "/tmp/dat-counters-XXXXXX";
	int file = mkstemp(name), saved = dup(fd);
	ssize_t len;

	ASSERT(file >= 0 && saved >= 0);
	unlink(name);
	fflush(NULL);
	ASSERT(dup2(file, fd) >= 0);
	OK(dat_ib_print_counters(handle, which, 0));
	fflush(NULL);
	ASSERT(dup2(saved, fd) >= 0);
	len = pread(file, text, room - 1, 0);
	ASSERT(len >= 0);
	text[len] = '\0';
	close(file);
	close(saved);
	return (size_t)len;
}

static unsigned int lines_of(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

TEST(counters, are_printed_on_stderr_only)
{
	char text[8192];
	DAT_EVENT ev;
	struct pair p;

	pair_up(&p);
	ASSERT_EQ(printed(STDOUT_FILENO, p.node.ia, DCNT_IA_ALL_COUNTERS, text, sizeof(text)), 0);
	ASSERT(printed(STDERR_FILENO, p.node.ia, DCNT_IA_ALL_COUNTERS, text, sizeof(text)) > 0);
	ASSERT_EQ(lines_of(text), DCNT_IA_ALL_COUNTERS);
	ASSERT(strstr(text, "DCNT_IA_PZ_CREATE = 1\n") == text);
	ASSERT(strstr(text, "\nDCNT_IA_CM_REQ_TX = 1\n"));
	ASSERT(strstr(text, "\nDCNT_IA_DIAG_ERR_SQ_TREE = 0\n"));
	ASSERT(printed(STDERR_FILENO, p.a.ep, DCNT_EP_ALL_COUNTERS, text, sizeof(text)) > 0);
	ASSERT_EQ(lines_of(text), DCNT_EP_ALL_COUNTERS);
	ASSERT(strstr(text, "DCNT_EP_CONNECT = 1\n") == text);
	ASSERT_EQ(dat_evd_dequeue(p.a.conn, &ev), DAT_QUEUE_EMPTY);
	printed(STDERR_FILENO, p.a.conn, DCNT_EVD_CONN_CALLBACK, text, sizeof(text));
	ASSERT(!strcmp(text, "DCNT_EVD_CONN_CALLBACK = 1\n"));
	pair_close(&p);
}

/* True if there is a file with the counters of the process. */
static bool counter_file_of(pid_t pid)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	char name[64];
	struct dirent *e;
	bool found = false;
	DIR *d;

	if (!dir || stat(dir, &st) || st.st_uid != geteuid())
		dir = "/dev/shm";
	d = opendir(dir);
	if (!d)
		dt_skip("there is no %s", dir);
	snprintf(name, sizeof(name), "dat-ofi.%ld.", (long)pid);
	while ((e = readdir(d)))
		found |= !strncmp(e->d_name, name, strlen(name));
	closedir(d);
	return found;
}

TEST(counters, file_of_a_killed_process_is_removed_at_the_next_open)
{
	struct node n;
	int ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(ready), 0);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		node_open(&n);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	ASSERT(counter_file_of(pid));
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	ASSERT(counter_file_of(pid));
	node_open(&n);
	ASSERT(!counter_file_of(pid));
	ASSERT(counter_file_of(getpid()));
	node_close(&n);
	ASSERT(!counter_file_of(getpid()));
	close(ready[0]);
	close(ready[1]);
}
