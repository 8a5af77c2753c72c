/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements stubs of the other objects of prov_ofi/rdm for the connection manager. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "rig.h"

#define LIMIT 8000000u /* microseconds for any step */

const struct sort sorts[2] = { { "local", true }, { "tcp", false } };
struct rig_play play;

static const struct dofi_fabric_desc row = { .name = "test" };

/* ---------------------------------------------------------------- libfabric's */

/* Not used: this library allocates the infos of its own fabrics. */
struct dofi_lib dofi_lib;

/* ---------------------------------------------------------------- the transport */

static struct end *end_of(struct msgep_ep *ep)
{
	return dofi_container(ep, struct end, ep);
}

static int rig_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	struct end *e = end_of(ep);

	ASSERT(active || e->have_params);
	ASSERT(ep->eq && out->fd == -1);
	if (play.get_params_ret)
		return play.get_params_ret;
	out->len = (uint16_t)sprintf((char *)out->data, "%s", active ? "active" : "passive") + 1;
	if (play.with_fd) {
		e->ep.w.any = e;
		if (e->fd < 0)
			e->fd = dofi_forkfd(memfd_create(active ? "a" : "p", MFD_CLOEXEC));
		out->fd = dup(e->fd);
		ASSERT(out->fd >= 0);
	}
	return 0;
}

static int rig_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in)
{
	struct end *e = end_of(ep);

	ASSERT(!e->have_params);
	if (play.set_params_ret)
		return play.set_params_ret;
	ASSERT_EQ(in->len, strlen(active ? "passive" : "active") + 1);
	memcpy(e->peer_params, in->data, in->len);
	e->have_params = true;
	if (!active && in->fd >= 0) {
		e->fd = in->fd;
		in->fd = -1;
	}
	return 0;
}

static size_t rig_finish(struct msgep_ep *ep, uint8_t *out)
{
	ASSERT(!dofi_trylock(&ep->lock));
	ASSERT_EQ(ep->state, MSGEP_DOWN);
	memcpy(out, "so long", 8);
	return 8;
}

static void rig_finished(struct msgep_ep *ep, const uint8_t *in, size_t len)
{
	struct end *e = end_of(ep);

	ASSERT(!dofi_trylock(&ep->lock));
	ASSERT(!e->finished);
	e->finished = true;
	memcpy(e->last, in, len);
}

static const struct msgep_transport transports[2] = {
	{ .name = "rig",
	  .id = 7,
	  .local = true,
	  .doorbell = true,
	  .get_params = rig_get_params,
	  .set_peer_params = rig_set_peer_params,
	  .finish = rig_finish,
	  .finished = rig_finished },
	{ .name = "rigtcp",
	  .id = 8,
	  .get_params = rig_get_params,
	  .set_peer_params = rig_set_peer_params,
	  .finish = rig_finish,
	  .finished = rig_finished },
};

static void rig_check_path(struct msgep_ep *ep)
{
	struct end *e = end_of(ep);

	ASSERT(!e->path_ok);
	e->path_ok = e->answered;
}

static bool rig_path_checked(struct msgep_ep *ep)
{
	return end_of(ep)->path_ok;
}

static void rig_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct)
{
	struct side *s = dofi_container(domain, struct side, domain);

	ASSERT(!direct);
	if (!s->arrived)
		return;
	s->arrived->path_ok = true;
	s->checked = &s->arrived->ep;
	s->arrived = NULL;
}

const struct msgep_transport rig_checking = {
	.name = "rigcheck",
	.id = 9,
	.progress = rig_progress,
	.check_path = rig_check_path,
	.path_checked = rig_path_checked,
	.get_params = rig_get_params,
	.set_peer_params = rig_set_peer_params,
	.finish = rig_finish,
	.finished = rig_finished,
};

/* ---------------------------------------------------------------- eq_events.c, ep_conn.c */

struct msgep_ep *msgep_eq_next_checked(struct msgep_eq *eq)
{
	struct side *s = dofi_container(eq, struct side, eq);
	struct msgep_ep *ep = s->checked;

	s->checked = NULL;
	return ep;
}

bool msgep_ep_has_work(const struct msgep_ep *ep)
{
	(void)ep;
	return false;
}

void msgep_ep_abort(struct msgep_ep *ep, const char *why)
{
	(void)why;
	ASSERT(!ep);
}

void msgep_ep_broken(struct msgep_ep *ep, int err)
{
	(void)err;
	ASSERT(!ep);
}

void msgep_cq_wake(struct msgep_cq *cq)
{
	ASSERT(!cq);
}

void msgep_eq_push(struct msgep_eq *eq, struct msgep_event *event)
{
	struct side *s = dofi_container(eq, struct side, eq);
	uint64_t one = 1;

	ASSERT_EQ(pthread_mutex_trylock(&eq->lock), EBUSY);
	ASSERT_EQ(write(eq->signal, &one, sizeof(one)), sizeof(one));
	dofi_list_append(&eq->events, &event->link);
	s->events++;
}

void msgep_ep_up(struct msgep_ep *ep)
{
	struct end *e = end_of(ep);

	ASSERT(!e->up && e->have_params && ep->sock >= 0);
	ASSERT_EQ(ep->state, MSGEP_CONNECTING);
	e->up = true;
	dofi_lock(&ep->lock);
	atomic_store(&ep->state, MSGEP_UP);
	dofi_unlock(&ep->lock);
}

bool msgep_ep_peer_ended(struct msgep_ep *ep, bool died)
{
	struct end *e = end_of(ep);

	ASSERT(e->finished || died);
	e->died = died;
	e->peer_ended_calls++;
	if (e->confirms) {
		e->confirms->path_ok = true;
		dofi_container(ep->eq, struct side, eq)->checked = &e->confirms->ep;
	}
	if (!e->held_back || (e->finished && died))
		return true;
	if (e->held_back > 0)
		e->held_back--;
	return false;
}

/* ---------------------------------------------------------------- sides */

void set_number(const char *name, const char *value)
{
	setenv(name, value, 1);
	dofi_param_load();
}

void side_open(struct side *s, bool local)
{
	struct epoll_event ev = { .events = EPOLLIN };

	memset(s, 0, sizeof(*s));
	s->fab.desc = &row;
	s->fab.info = &s->info;
	s->fab.addr.sa.sa_family = AF_INET;
	s->fab.addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fabric.fab = &s->fab;
	s->fabric.transport = &transports[!local];
	s->domain.fabric = &s->fabric;
	s->eq.fabric = &s->fabric;
	pthread_mutex_init(&s->eq.lock, NULL);
	dofi_list_init(&s->eq.events);
	s->eq.signal = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->eq.epfd = epoll_create1(EPOLL_CLOEXEC);
	ASSERT(!epoll_ctl(s->eq.epfd, EPOLL_CTL_ADD, s->eq.signal, &ev));
	ASSERT(!msgep_cm_open(&s->eq));
}

static struct msgep_event *take(struct side *s)
{
	struct msgep_event *event = NULL;
	uint64_t count;

	pthread_mutex_lock(&s->eq.lock);
	if (!dofi_list_empty(&s->eq.events)) {
		event = dofi_container(s->eq.events.next, struct msgep_event, link);
		dofi_list_remove(&event->link);
	}
	if (dofi_list_empty(&s->eq.events) && read(s->eq.signal, &count, sizeof(count)) < 0)
		ASSERT_EQ(errno, EAGAIN);
	pthread_mutex_unlock(&s->eq.lock);
	return event;
}

/* Does what msgep_eq_forget of fid_eq.c does; for all objects if fid is NULL. */
static void forget_events(struct side *s, struct fid *fid)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &s->eq.events)
	{
		struct msgep_event *event = dofi_container(pos, struct msgep_event, link);

		if (fid && event->fid != fid)
			continue;
		dofi_list_remove(pos);
		if (event->info) {
			msgep_cm_drop_request(event->info->handle);
			dofi_own_info_free(event->info);
		}
		free(event);
	}
}

void side_close(struct side *s)
{
	pthread_mutex_lock(&s->eq.lock);
	forget_events(s, NULL);
	msgep_cm_close(&s->eq);
	pthread_mutex_unlock(&s->eq.lock);
	close(s->eq.signal);
	close(s->eq.epfd);
	pthread_mutex_destroy(&s->eq.lock);
}

void end_open(struct end *e, struct side *s, struct fi_info *info)
{
	memset(e, 0, sizeof(*e));
	e->fd = -1;
	e->ep.sock = -1;
	e->ep.domain = &s->domain;
	e->ep.transport = s->fabric.transport;
	e->ep.fid.fid.fclass = FI_CLASS_EP;
	e->ep.fid.cm = &msgep_ep_cm_ops;
	dofi_lock_init(&e->ep.lock);
	if (info) {
		ASSERT_EQ(msgep_cm_attach_request(info->handle, &e->ep), 0);
		ASSERT_PTR(e->ep.eq, &s->eq);
		dofi_own_info_free(info);
	}
	e->ep.eq = &s->eq;
}

void end_close(struct end *e)
{
	struct side *s = dofi_container(e->ep.eq, struct side, eq);

	pthread_mutex_lock(&s->eq.lock);
	msgep_cm_forget(&e->ep);
	forget_events(s, &e->ep.fid.fid);
	pthread_mutex_unlock(&s->eq.lock);
	ASSERT_EQ(e->ep.sock, -1);
	ASSERT(!e->ep.cm);
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

static void set_addr(union dofi_addr *addr, const char *text, uint16_t port)
{
	memset(addr, 0, sizeof(*addr));
	if (text && strchr(text, ':')) {
		addr->sa.sa_family = AF_INET6;
		ASSERT_EQ(inet_pton(AF_INET6, text, &addr->in6.sin6_addr), 1);
	} else {
		addr->sa.sa_family = AF_INET;
		ASSERT_EQ(inet_pton(AF_INET, text ? text : "0.0.0.0", &addr->in.sin_addr), 1);
	}
	dofi_addr_set_port(&addr->sa, port);
}

int pep_open(struct msgep_pep *pep, struct side *s, const char *address, uint16_t port)
{
	memset(pep, 0, sizeof(*pep));
	pep->fid.fid.fclass = FI_CLASS_PEP;
	pep->fid.cm = &msgep_pep_cm_ops;
	dofi_list_init(&pep->listeners);
	pep->fabric = &s->fabric;
	pep->eq = &s->eq;
	set_addr(&pep->addr, address, port);
	return fi_listen(&pep->fid);
}

void pep_close(struct msgep_pep *pep)
{
	struct side *s = dofi_container(pep->eq, struct side, eq);

	pthread_mutex_lock(&s->eq.lock);
	msgep_cm_forget_pep(pep);
	forget_events(s, &pep->fid.fid);
	pthread_mutex_unlock(&s->eq.lock);
}

uint16_t pep_port(struct msgep_pep *pep)
{
	union dofi_addr addr;
	size_t len = sizeof(addr);

	ASSERT_EQ(fi_getname(&pep->fid.fid, &addr, &len), 0);
	ASSERT(dofi_addr_port(&addr.sa));
	return dofi_addr_port(&addr.sa);
}

int end_connect(struct end *e, const char *address, uint16_t port, const void *data, size_t len)
{
	union dofi_addr to;

	set_addr(&to, address, port);
	return fi_connect(&e->ep.fid, &to, data, len);
}

/* ---------------------------------------------------------------- work */

void work(struct side *s)
{
	pthread_mutex_lock(&s->eq.lock);
	msgep_cm_progress(&s->eq);
	pthread_mutex_unlock(&s->eq.lock);
}

/* Pending work must make the descriptors readable: nothing else triggers it. */
void side_poll_and_work(struct side *s, struct side *b, int ms)
{
	struct pollfd pfd[2] = { { .fd = s->eq.epfd, .events = POLLIN },
				 { .fd = b ? b->eq.epfd : -1, .events = POLLIN } };

	ASSERT(poll(pfd, 2, ms) >= 0);
	if (pfd[0].revents)
		work(s);
	if (pfd[1].revents)
		work(b);
}

struct msgep_event *side_await_event(struct side *s, struct side *b, uint32_t want)
{
	uint64_t end = dt_now_us() + (uint64_t)LIMIT * dt_slow();
	struct msgep_event *event;

	while (!(event = take(s))) {
		if (dt_now_us() > end)
			FAIL("event %u did not arrive", want);
		side_poll_and_work(s, b, 100);
	}
	if (event->event != want)
		FAIL("got event %u (error %d), expected %u", event->event, event->err, want);
	return event;
}

void side_await_only(struct side *s, struct side *b, uint32_t want, struct end *e)
{
	struct msgep_event *event = side_await_event(s, b, want);

	ASSERT_PTR(event->fid, &e->ep.fid.fid);
	ASSERT_EQ(event->len, 0);
	ASSERT(!event->info);
	free(event);
}

void side_expect_no_event(struct side *s, struct side *b)
{
	for (int i = 0; i < 3; i++)
		side_poll_and_work(s, b, 2);
	ASSERT(!take(s));
}

void join(struct side *s, struct msgep_pep *pep, struct end *active, struct end *passive)
{
	struct msgep_event *event;

	end_open(active, s, NULL);
	ASSERT_EQ(end_connect(active, "127.0.0.1", pep_port(pep), NULL, 0), 0);
	event = side_await_event(s, NULL, FI_CONNREQ);
	end_open(passive, s, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&passive->ep.fid, NULL, 0), 0);
	side_await_only(s, NULL, FI_CONNECTED, passive);
	side_await_only(s, NULL, FI_CONNECTED, active);
}

/* ---------------------------------------------------------------- foreign peers */

static socklen_t raw_name(bool local, const char *address, uint16_t port,
			  struct sockaddr_storage *ss)
{
	struct sockaddr_un *un = (struct sockaddr_un *)ss;

	memset(ss, 0, sizeof(*ss));
	if (!local) {
		set_addr((union dofi_addr *)ss, address, port);
		return (socklen_t)dofi_addr_len((struct sockaddr *)ss);
	}
	un->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)sprintf(un->sun_path + 1, "dat-ofi.rig.%s.%u",
					   address ? address : "any", port));
}

int raw_connect(bool local, const char *address, uint16_t port, const char *source)
{
	int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage ss;
	socklen_t len;

	ASSERT(fd >= 0);
	if (source && !local) {
		len = raw_name(false, source, 0, &ss);
		ASSERT(!bind(fd, (struct sockaddr *)&ss, len));
	}
	len = raw_name(local, address, port, &ss);
	if (connect(fd, (struct sockaddr *)&ss, len)) {
		close(fd);
		return -1;
	}
	return fd;
}

int raw_listen(bool local, const char *address, uint16_t *port, int backlog)
{
	int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage ss;
	socklen_t len;

	ASSERT(fd >= 0);
	if (local)
		*port = (uint16_t)(1024 + getpid() % 60000);
	len = raw_name(local, address, *port, &ss);
	ASSERT(!bind(fd, (struct sockaddr *)&ss, len) && !listen(fd, backlog));
	if (!local) {
		ASSERT(!getsockname(fd, (struct sockaddr *)&ss, &len));
		*port = dofi_addr_port((struct sockaddr *)&ss);
	}
	return fd;
}

size_t raw_request(bool local, uint8_t *buf, const void *data, uint16_t len)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_REQUEST,
				    .transport = transports[!local].id,
				    .port = 77,
				    .params = (const uint8_t *)"active",
				    .params_len = 7,
				    .data = data,
				    .data_len = len };

	set_addr(&msg.to, "127.0.0.1", 0);
	return msgep_cm_build(buf, &msg);
}

void raw_send_fds(int fd, const void *data, size_t len, const int *fds, size_t n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))];
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	ASSERT(n <= 16);
	memset(control, 0, sizeof(control));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	ASSERT_EQ(sendmsg(fd, &msg, MSG_NOSIGNAL), len);
}

ssize_t raw_recv(struct side *s, int fd, void *buf, size_t len)
{
	uint64_t end = dt_now_us() + (uint64_t)LIMIT * dt_slow();

	for (;;) {
		struct pollfd pfd[2] = { { .fd = s ? s->eq.epfd : -1, .events = POLLIN },
					 { .fd = fd, .events = POLLIN } };
		ssize_t n;

		ASSERT(dt_now_us() < end);
		poll(pfd, 2, 100);
		if (s && pfd[0].revents)
			work(s);
		n = recv(fd, buf, len, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN)
			return n;
	}
}
