/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests a man in the middle, which relays the handshake to another listener. */
#include "secret_files.h"
#include "rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct proxy {
	struct dt_thread thread;
	struct sockaddr_in at, to;
	int fd, stop[2];
};

static void forward(int from, int to)
{
	char buf[4096];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	if (n > 0)
		(void)!send(to, buf, (size_t)n, MSG_NOSIGNAL);
	else
		shutdown(to, SHUT_WR);
}

/* One connection after the other; true: it is to end. */
static bool pass_on(struct proxy *x, int client)
{
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p[3] = { { .fd = client, .events = POLLIN },
			       { .fd = server, .events = POLLIN },
			       { .fd = x->stop[0], .events = POLLIN } };
	int ends = 0;

	if (connect(server, (struct sockaddr *)&x->to, sizeof(x->to)))
		ends = 2;
	while (ends < 2 && poll(p, 3, -1) > 0 && !p[2].revents)
		for (int i = 0; i < 2; i++)
			if (p[i].revents) {
				char byte;

				if (recv(p[i].fd, &byte, 1, MSG_PEEK) <= 0) {
					p[i].fd = -1;
					ends++;
				}
				forward(i ? server : client, i ? client : server);
			}
	close(server);
	close(client);
	return p[2].revents;
}

static void proxy_run(void *arg)
{
	struct proxy *x = arg;

	for (;;) {
		struct pollfd p[2] = { { .fd = x->fd, .events = POLLIN },
				       { .fd = x->stop[0], .events = POLLIN } };

		poll(p, 2, -1);
		if (p[1].revents || pass_on(x, accept4(x->fd, NULL, NULL, SOCK_CLOEXEC)))
			return;
	}
}

/* At 127.0.0.2, to the service point at the adapter's address. */
static void proxy_start(struct proxy *x, const void *adapter, DAT_CONN_QUAL port)
{
	int on = 1;

	memset(x, 0, sizeof(*x));
	memcpy(&x->to, adapter, sizeof(x->to));
	x->at.sin_family = AF_INET;
	x->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	x->at.sin_port = x->to.sin_port = htons((uint16_t)port);
	x->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT(!setsockopt(x->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	ASSERT(!bind(x->fd, (struct sockaddr *)&x->at, sizeof(x->at)) && !listen(x->fd, 8));
	ASSERT(!pipe(x->stop));
	dt_thread_start(&x->thread, proxy_run, x);
}

static void proxy_stop(struct proxy *x)
{
	close(x->stop[1]);
	dt_thread_join(&x->thread);
	close(x->stop[0]);
	close(x->fd);
}

static void through_a_proxy(bool secret)
{
	struct proxy x;
	struct pair p;

	if (!fabric_has("sockets"))
		dt_skip("a service point is no TCP port");
	secret_files();
	secret_choose(secret ? "good" : NULL, "log");
	pair_open(&p);
	if (p.node.attr.ia_address_ptr->sa_family != AF_INET)
		dt_skip("the case is for IPv4");
	proxy_start(&x, p.node.attr.ia_address_ptr, p.qual);
	OK(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&x.at, p.qual));
	if (secret) {
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
		EV_NONE(p.cr_evd);
		ASSERT(secret_log_says("log", "address"));
	} else {
#if DAT_TEST_API == 12
		OK(dat_cr_reject(EV_CR(p.cr_evd, p.psp, p.qual)));
#else
		OK(dat_cr_reject(EV_CR(p.cr_evd, p.psp, p.qual), 0, NULL));
#endif
		EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	}
	proxy_stop(&x);
	pair_close(&p);
}

/* The listener would take the proxy for the client. */
TEST(secret, of_a_client_that_means_another_address_is_not_believed)
{
	through_a_proxy(true);
}

TEST(secret, where_none_is_wanted_a_proxy_works)
{
	through_a_proxy(false);
}
