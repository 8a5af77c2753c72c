/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes the libfabric objects that transports over libfabric have in common. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/error_text.h"
#include "base/log.h"
#include "msgep/inner.h"

/* A queue of rxm waits on its signal and the sets of the completion and event queues of tcp. */
#define MEMBERS 8

void msgep_inner_init(struct msgep_inner *in)
{
	*in = (struct msgep_inner){ .cq_fd = -1, .signal_fd = -1 };
}

int msgep_inner_open(struct msgep_inner *in, const char **what)
{
	int ret;

	*what = "fi_fabric";
	ret = dofi_lib.fabric(in->info->fabric_attr, &in->fabric, in);
	if (ret)
		return ret;
	*what = "fi_domain";
	return fi_domain(in->fabric, in->info, &in->domain, in);
}

int msgep_inner_open_beside(struct msgep_inner *in, const struct msgep_inner *first,
			    const char **what)
{
	*what = "fi_domain";
	return fi_domain(first->fabric, first->info, &in->domain, in);
}

int msgep_inner_open_cq(struct msgep_inner *in, size_t size, enum fi_wait_obj wait)
{
	struct fi_cq_attr attr = { .size = size, .format = FI_CQ_FORMAT_MSG, .wait_obj = wait };
	int ret = fi_cq_open(in->domain, &attr, &in->cq, in);

	if (ret || wait == FI_WAIT_NONE)
		return ret;
	ret = fi_control(&in->cq->fid, FI_GETWAIT, &in->cq_fd);
	if (ret) {
		fi_close(&in->cq->fid);
		in->cq = NULL;
		in->cq_fd = -1;
	}
	return ret;
}

bool msgep_inner_read_error(struct msgep_inner *in, void **op_context, int *err)
{
	struct fi_cq_err_entry entry;

	memset(&entry, 0, sizeof(entry));
	if (fi_cq_readerr(in->cq, &entry, 0) <= 0)
		return false;
	*op_context = entry.op_context;
	*err = entry.err < 0 ? -entry.err : entry.err ? entry.err : FI_EIO;
	dofi_log(DOFI_LOG_DEBUG, "an operation of libfabric failed: %s", dofi_error_text(*err));
	return true;
}

void msgep_fid_close(struct fid *fid, const char *what)
{
	int ret = fi_close(fid);

	if (ret)
		dofi_log(DOFI_LOG_WARN, "libfabric does not close %s: %s", what,
			 dofi_error_text(-ret));
}

void msgep_inner_close(struct msgep_inner *in)
{
	if (in->cq)
		msgep_fid_close(&in->cq->fid, "a completion queue");
	if (in->domain)
		msgep_fid_close(&in->domain->fid, "a domain");
	if (in->fabric)
		msgep_fid_close(&in->fabric->fid, "a fabric");
	if (in->info)
		dofi_lib.freeinfo(in->info);
}

int msgep_inner_wait_fds(const struct msgep_inner *in, int fd[MSGEP_WAIT_FDS], int n)
{
	if (in->cq_fd >= 0)
		fd[n++] = in->cq_fd;
	if (in->signal_fd >= 0)
		fd[n++] = in->signal_fd;
	return n;
}

/* ---------------------------------------------------------------- signals */

/* Reads the members of an epoll set, as many as fd[] holds. Returns their number; 0: not such a
 * set. */
static int epoll_members(int epfd, int *fd, int room)
{
	char path[48], line[160];
	int n = 0, member;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epfd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "tfd: %d", &member) != 1)
			continue;
		if (n < room)
			fd[n] = member;
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

int msgep_cq_signal_take(int cq_fd)
{
	int fd = -1;

	if (epoll_members(cq_fd, &fd, 1) != 1 || epoll_ctl(cq_fd, EPOLL_CTL_DEL, fd, NULL))
		return -1;
	return fd;
}

int msgep_cq_signal_take_inner(int cq_fd)
{
	int fd[MEMBERS], inner = -1, member;
	int n = epoll_members(cq_fd, fd, MEMBERS);

	if (n > MEMBERS)
		return -1;
	for (int i = 0; i < n; i++) {
		/* The set of the event queue has a listener, too. */
		if (epoll_members(fd[i], &member, 1) != 1)
			continue;
		if (inner >= 0)
			return -1;
		inner = fd[i];
	}
	return inner < 0 ? -1 : msgep_cq_signal_take(inner);
}
