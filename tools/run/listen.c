/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the ports that the processes of a trial listen on: TCP ports, and service points of shared
 * memory, which are unix sockets whose names end with the port.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

#define MAX_SOCKETS 4096
#define TCP_LISTEN 0x0A
#define UNIX_LISTEN 0x10000

/* Ignores listening sockets that dat_run inherited. */
static unsigned long inherited[64];
static size_t num_inherited;

struct listeners {
	unsigned long inode[MAX_SOCKETS];
	unsigned int port[MAX_SOCKETS];
	size_t count;
};

struct look {
	struct proc_ports *ports;
	unsigned int port;
};

static void read_tcp_table(struct listeners *l, pid_t pid, const char *name)
{
	unsigned int port, state;
	unsigned long inode;
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, name);
	f = fopen(path, "re");
	while (f && l->count < MAX_SOCKETS && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x "
			   "%*x %*u %*u %lu",
			   &port, &state, &inode) != 3 ||
		    state != TCP_LISTEN)
			continue;
		l->inode[l->count] = inode;
		l->port[l->count++] = port;
	}
	if (f)
		fclose(f);
}

static void read_unix_table(struct listeners *l, pid_t pid)
{
	char path[64], line[512], name[128];
	unsigned long inode;
	unsigned int flags;
	const char *dot;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/unix", pid);
	f = fopen(path, "re");
	while (f && l->count < MAX_SOCKETS && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*x: %*x %*x %x %*x %*x %lu @dat-ofi.%127s", &flags, &inode,
			   name) != 3 ||
		    !(flags & UNIX_LISTEN))
			continue;
		dot = strrchr(name, '.');
		l->inode[l->count] = inode;
		l->port[l->count++] = dot ? (unsigned int)strtoul(dot + 1, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
}

/* Calls `fn` for the inode of each socket of a process. */
static void each_socket(pid_t pid, void (*fn)(unsigned long inode, void *arg), void *arg)
{
	char path[320], target[64];
	unsigned long inode;
	struct dirent *e;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%lu]", &inode) == 1)
			fn(inode, arg);
	}
	if (dir)
		closedir(dir);
}

static void socket_inherit(unsigned long inode, void *arg)
{
	(void)arg;
	if (num_inherited < sizeof(inherited) / sizeof(*inherited))
		inherited[num_inherited++] = inode;
}

void proc_ports_init(void)
{
	each_socket(getpid(), socket_inherit, NULL);
}

struct socket_match {
	const struct listeners *listeners;
	struct look *look;
};

static void socket_match(unsigned long inode, void *arg)
{
	struct socket_match *m = arg;
	size_t i;

	for (i = 0; i < num_inherited; i++)
		if (inherited[i] == inode)
			return;
	for (i = 0; i < m->listeners->count; i++) {
		if (m->listeners->inode[i] != inode)
			continue;
		m->look->ports->count++;
		m->look->ports->sum += inode;
		if (m->listeners->port[i] == m->look->port)
			m->look->ports->has_port = true;
		return;
	}
}

/* Reads the tables of each process, which may run in its own network namespace. */
static void process_read_sockets(pid_t pid, void *arg)
{
	struct listeners *l = calloc(1, sizeof(*l));
	struct socket_match m = { .listeners = l, .look = arg };

	if (!l)
		return;
	read_tcp_table(l, pid, "tcp");
	read_tcp_table(l, pid, "tcp6");
	read_unix_table(l, pid);
	if (l->count)
		each_socket(pid, socket_match, &m);
	free(l);
}

void proc_ports_look(struct proc_ports *ports, unsigned int port)
{
	struct look look = { .ports = ports, .port = port };

	memset(ports, 0, sizeof(*ports));
	proc_each(process_read_sockets, &look);
}
