/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads retransmissions of a process's TCP sockets: the kernel lists sockets, /proc their owners.
 *
 * The watched process takes no part in it.
 */
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "top.h"

#define ALL_STATES 0xfff

/* Inodes of the sockets of the process, sorted; NULL: they cannot be read, or there are none. */
static unsigned long *read_inodes(pid_t pid, size_t *count, bool *readable)
{
	char path[64], target[64];
	unsigned long *inode = NULL, *more, value;
	struct dirent *entry;
	DIR *dir;

	*count = 0;
	snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	dir = opendir(path);
	*readable = dir != NULL;
	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%lu]", &value) != 1)
			continue;
		more = realloc(inode, (*count + 1) * sizeof(*inode));
		if (!more)
			break;
		inode = more;
		inode[(*count)++] = value;
	}
	if (dir)
		closedir(dir);
	return inode;
}

static bool is_own(const unsigned long *inode, size_t count, unsigned long value)
{
	for (size_t i = 0; i < count; i++)
		if (inode[i] == value)
			return true;
	return false;
}

/* Adds to the peer's sum. */
static void add_peer(struct top_process *p, uint8_t family, const void *addr, uint64_t n)
{
	size_t len = family == AF_INET ? 4 : 16;
	struct top_peer *more;

	for (size_t i = 0; i < p->peers; i++)
		if (p->peer[i].family == family && !memcmp(p->peer[i].addr, addr, len)) {
			p->peer[i].retransmits += n;
			return;
		}
	more = realloc(p->peer, (p->peers + 1) * sizeof(*more));
	if (!more)
		return;
	p->peer = more;
	memset(&more[p->peers], 0, sizeof(*more));
	more[p->peers].family = family;
	memcpy(more[p->peers].addr, addr, len);
	more[p->peers++].retransmits = n;
}

static void take_socket(struct top_process *p, const struct inet_diag_msg *m, size_t len)
{
	const struct rtattr *a = (const void *)(m + 1);
	const uint8_t *addr = (const void *)m->id.idiag_dst;
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t family = m->idiag_family;
	uint32_t retransmits = 0;

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		size_t at = offsetof(struct tcp_info, tcpi_total_retrans);

		if (a->rta_type == INET_DIAG_INFO && RTA_PAYLOAD(a) >= at + sizeof(retransmits))
			memcpy(&retransmits, (const char *)RTA_DATA(a) + at, sizeof(retransmits));
	}
	p->sockets++;
	p->retransmits += retransmits;
	if (family == AF_INET6 && !memcmp(addr, mapped, sizeof(mapped))) {
		family = AF_INET;
		addr += sizeof(mapped);
	}
	add_peer(p, family, addr, retransmits);
}

/* One answer of the kernel. False: it was the last one. */
static bool take_answer(struct top_process *p, const char *text, size_t n,
			const unsigned long *inode, size_t inodes)
{
	const struct nlmsghdr *h = (const void *)text;

	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		const struct inet_diag_msg *m = NLMSG_DATA(h);

		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return false;
		if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(*m)) &&
		    is_own(inode, inodes, m->idiag_inode))
			take_socket(p, m, h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	}
	return true;
}

static void read_family(struct top_process *p, int fd, uint8_t family, const unsigned long *inode,
			size_t inodes)
{
	_Alignas(16) static char text[65536];
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .sdiag_family = family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_ext = 1 << (INET_DIAG_INFO - 1),
			  .idiag_states = ALL_STATES },
	};
	ssize_t n;

	if (send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask))
		return;
	do
		n = recv(fd, text, sizeof(text), 0);
	while (n > 0 && take_answer(p, text, (size_t)n, inode, inodes));
}

void top_read_tcp(struct top_process *p)
{
	struct timeval limit = { .tv_sec = 1 };
	unsigned long *inode;
	bool readable;
	size_t inodes;
	int fd;

	inode = read_inodes(p->pid, &inodes, &readable);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	p->sockets = readable && fd >= 0 ? 0 : -1;
	if (inode && fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		read_family(p, fd, AF_INET, inode, inodes);
		read_family(p, fd, AF_INET6, inode, inodes);
	}
	if (fd >= 0)
		close(fd);
	free(inode);
}
