/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a forked child keeps no names of service points and no connections of its parent. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "rig.h"

/* A child that does nothing for as long as the case may take. */
static void idle(void)
{
	alarm(120);
	for (;;)
		pause();
}

/* Closed by the child last of all: when it has called its handlers, or executed a program. */
struct latch {
	int read, write;
};

static void latch_open(struct latch *l)
{
	int fd[2];

	ASSERT_EQ(pipe2(fd, O_CLOEXEC), 0);
	l->read = fd[0];
	l->write = fcntl(fd[1], F_DUPFD_CLOEXEC, 900);
	ASSERT(l->write >= 900);
	close(fd[1]);
}

static void latch_wait(struct latch *l)
{
	char c;

	close(l->write);
	ASSERT_EQ(read(l->read, &c, 1), 0);
	close(l->read);
}

static pid_t fork_idle(void)
{
	struct latch l;
	pid_t pid;

	latch_open(&l);
	pid = fork();
	ASSERT(pid >= 0);
	if (pid == 0) {
		close(l.write);
		idle();
	}
	latch_wait(&l);
	return pid;
}

/* The same, but it executes another program. */
static pid_t spawn_idle(void)
{
	char *argv[] = { (char *)(uintptr_t) "sleep", (char *)(uintptr_t) "120", NULL };
	struct latch l;
	pid_t pid;

	latch_open(&l);
	ASSERT_EQ(posix_spawnp(&pid, "sleep", NULL, NULL, argv, environ), 0);
	latch_wait(&l);
	return pid;
}

static void end_child(pid_t pid)
{
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- service points ---- */

static void free_while_a_child_lives(pid_t (*start)(void))
{
	DAT_PSP_HANDLE psp, again;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	struct node n;
	pid_t pid;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(n.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	pid = start();
	OK(dat_psp_free(psp));
	OK(dat_psp_create(n.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &again));
	/* Nor does the child keep what it has seen nothing of. */
	OK(dat_psp_free(again));
	OK(dat_evd_free(evd));
	node_close(&n);
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create(n.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	end_child(pid);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(fork, child_does_not_keep_a_freed_qualifier)
{
	free_while_a_child_lives(fork_idle);
}

TEST(fork, child_that_executes_a_program_does_not_keep_a_freed_qualifier)
{
	free_while_a_child_lives(spawn_idle);
}

/* Forks, tells the child to the test, and waits for its death. */
static void fork_and_wait(int fd)
{
	pid_t pid = fork_idle();

	dt_put(fd, &pid, sizeof(pid));
	dt_expect_byte(fd, 'x'); /* killed here */
	end_child(pid);
}

static void listener(int fd, const void *arg)
{
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	struct node n;

	(void)arg;
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(n.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	dt_put(fd, &qual, sizeof(qual));
	fork_and_wait(fd);
}

TEST(fork, child_does_not_keep_a_killed_listeners_qualifier)
{
	struct dt_peer peer;
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	struct node n;
	DAT_RETURN ret;
	pid_t child;

	dt_peer_start(&peer, listener, NULL);
	dt_get(peer.fd, &qual, sizeof(qual));
	dt_get(peer.fd, &child, sizeof(child));
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	dt_peer_kill(&peer, SIGKILL);
	ret = dat_psp_create(n.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
	kill(child, SIGKILL);
	OK(ret);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(evd));
	node_close(&n);
}

/* ---- connections ---- */

/* What the listening side sends to the other one. */
struct hello {
	DAT_SOCK_ADDR6 addr;
	DAT_CONN_QUAL qual;
};

static void hello_make(struct hello *h, const struct pair *p)
{
	memset(h, 0, sizeof(*h));
	memcpy(&h->addr, p->node.attr.ia_address_ptr, sizeof(struct sockaddr_in));
	h->qual = p->qual;
}

/* Opening an adapter takes its time: a client has done it before the server waits for its request,
 * and tells it by 'o'. */

static void server(int fd, const void *arg)
{
	struct hello h;
	struct pair p;

	(void)arg;
	pair_open(&p);
	hello_make(&h, &p);
	dt_expect_byte(fd, 'o');
	dt_put(fd, &h, sizeof(h));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	fork_and_wait(fd);
}

static void client(int fd, const void *arg)
{
	struct hello h;
	struct pair p;

	(void)arg;
	pair_open(&p);
	dt_put(fd, "o", 1);
	dt_get(fd, &h, sizeof(h));
	OK(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&h.addr, h.qual));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	fork_and_wait(fd);
}

#define US_NOTICED 5000000u

/* The connection of a peer that has been killed ends here, whatever its child does. */
static void check_death(struct dt_peer *peer, struct side *s, pid_t child)
{
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_COUNT more;
	DAT_EVENT ev;
	DAT_RETURN ret;

	OK(post_recv(s, 0, 100, 1));
	dt_peer_kill(peer, SIGKILL);
	ret = dat_evd_wait(s->conn, US_NOTICED * dt_slow(), 1, &ev, &more);
	kill(child, SIGKILL);
	OK(ret);
	if (ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
	d = &ev.event_data.connect_event_data;
	ASSERT_PTR(d->ep_handle, s->ep);
	EV_FLUSH(s->recv, s->ep, 1, OP_RECV);
}

TEST(fork, child_does_not_keep_a_killed_servers_connection)
{
	struct dt_peer peer;
	struct hello h;
	struct pair p;
	pid_t child;

	dt_peer_start(&peer, server, NULL);
	pair_open(&p);
	dt_put(peer.fd, "o", 1);
	dt_get(peer.fd, &h, sizeof(h));
	OK(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&h.addr, h.qual));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	dt_get(peer.fd, &child, sizeof(child));
	check_death(&peer, &p.a, child);
	pair_close(&p);
}

TEST(fork, child_does_not_keep_a_killed_clients_connection)
{
	struct dt_peer peer;
	struct hello h;
	struct pair p;
	pid_t child;

	dt_peer_start(&peer, client, NULL);
	pair_open(&p);
	hello_make(&h, &p);
	dt_expect_byte(peer.fd, 'o');
	dt_put(peer.fd, &h, sizeof(h));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	dt_get(peer.fd, &child, sizeof(child));
	check_death(&peer, &p.b, child);
	pair_close(&p);
}

/* ---- descriptors ---- */

/* Of the library's own none is left; those inside libfabric cannot all be known. */
TEST(fork, child_has_no_descriptor_of_a_connected_pair)
{
	struct dt_fds before;
	struct pair p;
	int status;
	pid_t pid;

	if (!fabric_is("shm"))
		dt_skip("libfabric's own descriptors stay");
	dt_fds_get(&before);
	pair_up(&p);
	pid = fork_when_idle();
	ASSERT(pid >= 0);
	if (pid == 0) {
		dt_fds_check(&before, __FILE__, __LINE__);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_send(&p.a, 0, 100, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 100);
	pair_close(&p);
}

static void send_one(struct pair *p)
{
	OK(post_recv(&p->b, 0, 1000, 1));
	OK(post_send(&p->a, 0, 1000, 2));
	EV_DTO(p->b.recv, p->b.ep, 1, OP_RECV, 1000);
}

/* A number that the library had in the parent may be anything in the child. */
TEST(fork, childs_own_descriptors_are_left_alone_by_its_adapter)
{
	struct pair p, q;
	int fd, fds[64], i, status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	dt_skip("ThreadSanitizer allows no threads after a fork");
#endif
	pair_up(&p);
	pid = fork_when_idle();
	ASSERT(pid >= 0);
	if (pid == 0) {
		for (i = 0; i < 64; i++) {
			fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
			ASSERT(fds[i] >= 0);
		}
		pair_up(&q);
		send_one(&q);
		node_abort(&q.node);
		for (i = 0; i < 64; i++) {
			fd = fcntl(fds[i], F_GETFD);
			ASSERT(fd >= 0);
		}
		/* A child of the child, in which they are not the library's either. */
		pid = fork();
		ASSERT(pid >= 0);
		for (i = 0; i < 64; i++)
			ASSERT(fcntl(fds[i], F_GETFD) >= 0);
		if (pid == 0)
			_exit(0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		_exit(status);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	pair_close(&p);
}

/* ---- locks ---- */

static _Atomic bool stop_calls;

static void make_objects(void *arg)
{
	const struct node *n = arg;

	while (!stop_calls) {
		DAT_CONN_QUAL qual;
		DAT_EVD_HANDLE evd;
		DAT_PSP_HANDLE psp;
		DAT_EP_HANDLE ep;

		OK(dat_evd_create(n->ia, 4, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
				  &evd));
		OK(dat_ep_create(n->ia, n->pz, evd, evd, evd, NULL, &ep));
		OK(dat_psp_create_any(n->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		OK(dat_psp_free(psp));
		OK(dat_ep_free(ep));
		OK(dat_evd_free(evd));
	}
}

static void connect_pairs(void *arg)
{
	(void)arg;
	while (!stop_calls) {
		struct pair p;

		pair_up(&p);
		send_one(&p);
		pair_close(&p);
	}
}

static void use_an_adapter(void)
{
	struct pair p;

	alarm(20 * dt_slow());
	pair_up(&p);
	send_one(&p);
	node_abort(&p.node);
}

TEST_LIMIT(fork, child_can_open_an_adapter_whatever_other_threads_did, 120)
{
	struct dt_thread threads[2];
	struct node n;

#ifdef __SANITIZE_THREAD__
	dt_skip("ThreadSanitizer allows no threads after a fork");
#endif
#ifdef __SANITIZE_ADDRESS__
	dt_skip("AddressSanitizer's allocator may stay locked in a child");
#endif
	node_open(&n);
	dt_thread_start(&threads[0], make_objects, &n);
	dt_thread_start(&threads[1], connect_pairs, NULL);
	for (int i = 0; i < 40; i++) {
		int status;
		pid_t pid = fork();

		ASSERT(pid >= 0);
		if (pid == 0) {
			use_an_adapter();
			_exit(0);
		}
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_EQ(status, 0);
	}
	stop_calls = true;
	dt_thread_join(&threads[0]);
	dt_thread_join(&threads[1]);
	node_close(&n);
}
