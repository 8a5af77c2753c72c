/* SPDX-License-Identifier: BSD-2-Clause */
/* Defines functions of the C library that fail on demand. */
#include "inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT FAULT_PLAIN __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* The next definition, as `real`: the sanitizer's or the C library's. */
#define REAL(fn_) \
	static _Atomic(__typeof__(&(fn_))) kept_; \
	__typeof__(&(fn_)) real = atomic_load_explicit(&kept_, memory_order_relaxed); \
	if (!real) { \
		*(void **)&real = dlsym(RTLD_NEXT, #fn_); \
		atomic_store_explicit(&kept_, real, memory_order_relaxed); \
	}

#define FAIL_WITH(how_, value_) \
	do { \
		int fails_ = (how_); \
\
		if (fails_ > 0) { \
			errno = fails_; \
			return (value_); \
		} \
	} while (0)

/* A function whose only failure is an errno and a value. */
#define SIMPLE(type_, fn_, first_, failed_, params_, args_) \
	EXPORT type_ fn_ params_ \
	{ \
		REAL(fn_) \
		int how = fault_now(FN_##first_, CALLER); \
		FAIL_WITH(how, failed_); \
		return real args_; \
	}

/* clang-format off */
SIMPLE(void *, malloc, malloc_ENOMEM, NULL, (size_t size), (size))
SIMPLE(void *, calloc, calloc_ENOMEM, NULL, (size_t n, size_t size), (n, size))
SIMPLE(void *, realloc, realloc_ENOMEM, NULL, (void *p, size_t size), (p, size))
SIMPLE(char *, strdup, strdup_ENOMEM, NULL, (const char *s), (s))
SIMPLE(char *, strndup, strndup_ENOMEM, NULL, (const char *s, size_t n), (s, n))
SIMPLE(void *, aligned_alloc, aligned_alloc_ENOMEM, NULL, (size_t align, size_t size),
       (align, size))
SIMPLE(void *, mmap, mmap_ENOMEM, MAP_FAILED,
       (void *at, size_t len, int prot, int flags, int fd, off_t off),
       (at, len, prot, flags, fd, off))
SIMPLE(int, ftruncate, ftruncate_ENOSPC, -1, (int fd, off_t size), (fd, size))
SIMPLE(int, fallocate, fallocate_ENOSPC, -1, (int fd, int mode, off_t at, off_t size),
       (fd, mode, at, size))
SIMPLE(int, memfd_create, memfd_create_EMFILE, -1, (const char *name, unsigned int flags),
       (name, flags))
SIMPLE(int, shm_open, shm_open_EMFILE, -1, (const char *name, int flags, mode_t mode),
       (name, flags, mode))
SIMPLE(int, mkostemp, mkostemp_EMFILE, -1, (char *name, int flags), (name, flags))
SIMPLE(FILE *, fopen, fopen_EMFILE, NULL, (const char *name, const char *mode), (name, mode))
SIMPLE(DIR *, opendir, opendir_EMFILE, NULL, (const char *name), (name))
SIMPLE(int, socket, socket_EMFILE, -1, (int domain, int type, int protocol),
       (domain, type, protocol))
SIMPLE(int, socketpair, socketpair_EMFILE, -1, (int domain, int type, int protocol, int fd[2]),
       (domain, type, protocol, fd))
SIMPLE(int, bind, bind_EADDRINUSE, -1, (int fd, __CONST_SOCKADDR_ARG addr, socklen_t len),
       (fd, addr, len))
SIMPLE(int, listen, listen_EADDRINUSE, -1, (int fd, int n), (fd, n))
SIMPLE(int, accept, accept_EMFILE, -1, (int fd, __SOCKADDR_ARG addr, socklen_t *len),
       (fd, addr, len))
SIMPLE(int, accept4, accept4_EMFILE, -1, (int fd, __SOCKADDR_ARG addr, socklen_t *len, int flags),
       (fd, addr, len, flags))
SIMPLE(int, connect, connect_ECONNREFUSED, -1, (int fd, __CONST_SOCKADDR_ARG addr, socklen_t len),
       (fd, addr, len))
SIMPLE(int, getsockname, getsockname_ENOBUFS, -1, (int fd, __SOCKADDR_ARG addr, socklen_t *len),
       (fd, addr, len))
SIMPLE(int, getpeername, getpeername_ENOTCONN, -1, (int fd, __SOCKADDR_ARG addr, socklen_t *len),
       (fd, addr, len))
SIMPLE(int, setsockopt, setsockopt_ENOMEM, -1,
       (int fd, int level, int name, const void *value, socklen_t len),
       (fd, level, name, value, len))
SIMPLE(int, getsockopt, getsockopt_ENOBUFS, -1,
       (int fd, int level, int name, void *value, socklen_t *len), (fd, level, name, value, len))
SIMPLE(int, epoll_create, epoll_create_EMFILE, -1, (int size), (size))
SIMPLE(int, epoll_create1, epoll_create1_EMFILE, -1, (int flags), (flags))
SIMPLE(int, epoll_wait, epoll_wait_EINTR, -1,
       (int fd, struct epoll_event *events, int most, int timeout), (fd, events, most, timeout))
SIMPLE(int, poll, poll_EINTR, -1, (struct pollfd *fds, nfds_t n, int timeout), (fds, n, timeout))
SIMPLE(int, ppoll, ppoll_EINTR, -1,
       (struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
       (fds, n, timeout, mask))
SIMPLE(int, eventfd, eventfd_EMFILE, -1, (unsigned int count, int flags), (count, flags))
SIMPLE(int, timerfd_create, timerfd_create_EMFILE, -1, (int clock, int flags), (clock, flags))
SIMPLE(int, pipe2, pipe2_EMFILE, -1, (int fd[2], int flags), (fd, flags))
SIMPLE(int, getifaddrs, getifaddrs_ENOMEM, -1, (struct ifaddrs **list), (list))
SIMPLE(ssize_t, getrandom, getrandom_ENOSYS, -1, (void *buf, size_t len, unsigned int flags),
       (buf, len, flags))
SIMPLE(ssize_t, read, read_EINTR, -1, (int fd, void *buf, size_t len), (fd, buf, len))
SIMPLE(ssize_t, write, write_EINTR, -1, (int fd, const void *buf, size_t len), (fd, buf, len))
SIMPLE(ssize_t, readv, readv_ENOMEM, -1, (int fd, const struct iovec *iov, int n), (fd, iov, n))
SIMPLE(ssize_t, recvfrom, recvfrom_ENOMEM, -1,
       (int fd, void *buf, size_t len, int flags, __SOCKADDR_ARG addr, socklen_t *addr_len),
       (fd, buf, len, flags, addr, addr_len))
SIMPLE(ssize_t, process_vm_writev, process_vm_writev_EPERM, -1,
       (pid_t pid, const struct iovec *local, unsigned long n, const struct iovec *remote,
	unsigned long m, unsigned long flags),
       (pid, local, n, remote, m, flags))
/* clang-format on */

/* Return the error. */

EXPORT int posix_memalign(void **mem, size_t align, size_t size)
{
	REAL(posix_memalign)
	int how = fault_now(FN_posix_memalign_ENOMEM, CALLER);

	return how > 0 ? how : real(mem, align, size);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	REAL(pthread_create)
	int how = fault_now(FN_pthread_create_EAGAIN, CALLER);

	return how > 0 ? how : real(thread, attr, fn, arg);
}

EXPORT int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **list)
{
	REAL(getaddrinfo)

	if (fault_now(FN_getaddrinfo_ENOMEM, CALLER))
		return EAI_MEMORY;
	return real(node, service, hints, list);
}

/* With variable arguments. */

EXPORT int open(const char *name, int flags, ...)
{
	REAL(open)
	int how = fault_now(FN_open_EMFILE, CALLER);
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	FAIL_WITH(how, -1);
	return real(name, flags, mode);
}

EXPORT int openat(int dir, const char *name, int flags, ...)
{
	REAL(openat)
	int how = fault_now(FN_openat_EMFILE, CALLER);
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	FAIL_WITH(how, -1);
	return real(dir, name, flags, mode);
}

EXPORT long syscall(long number, ...)
{
	REAL(syscall)
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_membarrier)
		FAIL_WITH(fault_now(FN_membarrier_ENOSYS, CALLER), -1);
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* Removing a descriptor does not fail. */
EXPORT int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	REAL(epoll_ctl)

	if (op == EPOLL_CTL_ADD)
		FAIL_WITH(fault_now(FN_epoll_ctl_ENOMEM, CALLER), -1);
	return real(set, op, fd, event);
}

/* May move a part of their bytes. */

/* Messages of other sockets are moved as a whole. */
static int on_stream(int how, int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (how == FAULT_SHORT &&
	    (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM))
		return 0;
	return how;
}

static size_t part(int how, size_t len)
{
	return how == FAULT_SHORT && len > 1 ? len / 2 : len;
}

EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	REAL(send)
	int how = on_stream(fault_now(FN_send_ENOBUFS, CALLER), fd);

	FAIL_WITH(how, -1);
	return real(fd, buf, part(how, len), flags);
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG addr,
		      socklen_t addr_len)
{
	REAL(sendto)
	int how = on_stream(fault_now(FN_sendto_ENOBUFS, CALLER), fd);

	FAIL_WITH(how, -1);
	return real(fd, buf, part(how, len), flags, addr, addr_len);
}

EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	REAL(recv)
	int how = on_stream(fault_now(FN_recv_ENOMEM, CALLER), fd);

	FAIL_WITH(how, -1);
	return real(fd, buf, part(how, len), flags);
}

/* The first segment or half of it, so that the rest is missing. */
static struct msghdr part_of(const struct msghdr *msg, struct iovec *first)
{
	struct msghdr less = *msg;

	if (!msg->msg_iovlen)
		return less;
	*first = msg->msg_iov[0];
	if (msg->msg_iovlen == 1)
		first->iov_len = part(FAULT_SHORT, first->iov_len);
	less.msg_iov = first;
	less.msg_iovlen = 1;
	return less;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	REAL(sendmsg)
	int how = on_stream(fault_now(FN_sendmsg_ENOBUFS, CALLER), fd);
	struct msghdr less;
	struct iovec first;

	FAIL_WITH(how, -1);
	if (how != FAULT_SHORT)
		return real(fd, msg, flags);
	less = part_of(msg, &first);
	return real(fd, &less, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	REAL(recvmsg)
	int how = on_stream(fault_now(FN_recvmsg_ENOMEM, CALLER), fd);
	struct msghdr less;
	struct iovec first;
	ssize_t n;

	FAIL_WITH(how, -1);
	if (how != FAULT_SHORT)
		return real(fd, msg, flags);
	less = part_of(msg, &first);
	n = real(fd, &less, flags);
	msg->msg_namelen = less.msg_namelen;
	msg->msg_controllen = less.msg_controllen;
	msg->msg_flags = less.msg_flags;
	return n;
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int n)
{
	REAL(writev)
	int how = on_stream(fault_now(FN_writev_ENOBUFS, CALLER), fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
	struct iovec first;

	FAIL_WITH(how, -1);
	if (how != FAULT_SHORT || n < 1)
		return real(fd, iov, n);
	msg = part_of(&msg, &first);
	return real(fd, msg.msg_iov, 1);
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n,
				const struct iovec *remote, unsigned long m, unsigned long flags)
{
	REAL(process_vm_readv)
	int how = fault_now(FN_process_vm_readv_EPERM, CALLER);
	struct iovec first;

	FAIL_WITH(how, -1);
	if (how != FAULT_SHORT || n < 1)
		return real(pid, local, n, remote, m, flags);
	first = local[0];
	first.iov_len = part(how, first.iov_len);
	return real(pid, &first, 1, remote, m, flags);
}
