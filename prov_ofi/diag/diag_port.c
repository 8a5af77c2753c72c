/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the process that holds the port of a service point. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork_lock.h"
#include "base/log.h"
#include "base/param.h"
#include "diag/diag.h"

#define LISTENING 0x0a

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(lock, DOFI_FORK_DIAG_PORT)
static char kept[256]; /* the first failure; empty after a success */
static pid_t kept_by;
static bool found_one;

/* Returns the inode of the socket that listens on the port; 0: none is visible to this process. */
static unsigned long diag_listener_in(const char *table, uint16_t port)
{
	unsigned long inode = 0, found = 0;
	unsigned int local, state;
	FILE *f = fopen(table, "re");
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line,
			   "%*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*d %*d %lu",
			   &local, &state, &inode) == 3 &&
		    state == LISTENING && local == port)
			found = inode;
	if (f)
		fclose(f);
	return found;
}

static bool diag_has_socket(const char *pid, const char *wanted)
{
	char path[512], target[64];
	struct dirent *entry;
	bool found = false;
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		found = !strcmp(target, wanted);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void diag_read_name(const char *pid, char *name, size_t room)
{
	char path[288];
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, name, room - 1);
		close(fd);
	}
	name[len > 0 ? len : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* Writes "process 123 (name)", or what is known about the owner. */
static void diag_owner_of(uint16_t port, char *text, size_t room)
{
	unsigned long inode = diag_listener_in("/proc/net/tcp", port);
	char wanted[64], name[32] = "";
	struct dirent *entry;
	DIR *proc;

	if (!inode)
		inode = diag_listener_in("/proc/net/tcp6", port);
	snprintf(text, room, "%s", inode ? "a process of another user" : "another socket");
	proc = inode ? opendir("/proc") : NULL;
	if (!proc)
		return;
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !diag_has_socket(entry->d_name, wanted))
			continue;
		diag_read_name(entry->d_name, name, sizeof(name));
		snprintf(text, room, "process %.16s (%s)%s", entry->d_name, name,
			 atol(entry->d_name) == (long)getpid() ? ", which is this one" : "");
		break;
	}
	closedir(proc);
}

void dofi_diag_port(uint16_t port, int ret)
{
	char owner[96] = "", text[sizeof(kept)];
	bool first;

	pthread_mutex_lock(&lock);
	first = !found_one && !*kept;
	pthread_mutex_unlock(&lock);
	/* The search takes milliseconds: skip it in programs that try many ports. */
	if (!first && dofi_param(DOFI_NUM_LOG) < DOFI_LOG_WARN)
		return;
	if (ret == -EADDRINUSE)
		diag_owner_of(port, owner, sizeof(owner));
	if (*owner)
		snprintf(text, sizeof(text),
			 "cannot listen on port %u: it is in use by %s; try: "
			 "another connection qualifier, or end that process",
			 port, owner);
	else
		snprintf(text, sizeof(text),
			 "cannot listen on port %u: %s; try: another "
			 "connection qualifier (ports are its low 16 bits)",
			 port, strerror(-ret));
	if (dofi_param(DOFI_NUM_LOG) >= DOFI_LOG_WARN) {
		dofi_log(DOFI_LOG_WARN, "%s", text);
		return;
	}
	pthread_mutex_lock(&lock);
	if (!found_one && !*kept) {
		memcpy(kept, text, sizeof(kept));
		kept_by = getpid();
	}
	pthread_mutex_unlock(&lock);
}

void dofi_diag_port_ok(void)
{
	pthread_mutex_lock(&lock);
	found_one = true;
	*kept = '\0';
	pthread_mutex_unlock(&lock);
}

/* The program exits without having found a free port. */
__attribute__((destructor)) static void diag_report_kept(void)
{
	if (*kept && kept_by == getpid())
		dofi_log(DOFI_LOG_ERROR, "%s", kept);
	*kept = '\0';
}
