/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and checks the files with the counters of processes; removes those of dead ones.
 *
 * A file is believed as far as it is consistent: only this user can read it, its
 * header describes this format and a process that exists, and chunks and slots are within its size.
 * It is read, not mapped, so that a file that shrinks meanwhile cannot harm the reader.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

/* More than the largest process: 65,536 EPs in chunks of 63. */
#define MOST_CHUNKS 4096

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Field 22 of /proc/PID/stat; 0: there is no such process. */
static uint64_t start_time(pid_t pid)
{
	char path[64], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* True if the process has the file mapped, or if that cannot be seen. A process that has executed
 * another program has the same PID and start time, but not the mapping. */
static bool has_mapped(pid_t pid, const char *path)
{
	const char *base = strrchr(path, '/'); /* the folder may have several names */
	char name[64], *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%ld/maps", (long)pid);
	maps = fopen(name, "re");
	if (!maps)
		return true;
	while (!found && getline(&line, &room, maps) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		found = strlen(line) >= strlen(base) &&
			!strcmp(line + strlen(line) - strlen(base), base);
	}
	free(line);
	fclose(maps);
	return found;
}

static uint64_t own_pid_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

enum verdict { FOREIGN, DEAD, ALIVE };

static enum verdict judge(const struct dofi_counter_header *h, const char *path)
{
	pid_t pid = (pid_t)h->pid;

	if (memcmp(h->magic, DOFI_COUNTER_MAGIC, sizeof(h->magic)) ||
	    h->version != DOFI_COUNTER_VERSION || h->header_size != DOFI_COUNTER_HEADER ||
	    h->chunk_size != DOFI_COUNTER_CHUNK || h->chunks > MOST_CHUNKS || pid <= 0 ||
	    (h->api != 12 && h->api != 20))
		return FOREIGN;
	/* The numbers of another namespace mean other processes here. */
	if (!h->pid_ns || h->pid_ns != own_pid_ns() || !h->start_time)
		return FOREIGN;
	return start_time(pid) == h->start_time && has_mapped(pid, path) ? ALIVE : DEAD;
}

/* Appends the slots in use of one chunk. False: no memory. */
static bool add_slots(struct top_process *p, const char *chunk)
{
	const struct dofi_counter_chunk *head = (const void *)chunk;
	uint32_t size, slots;
	char **to;
	size_t *n;

	if (memcmp(head->magic, DOFI_COUNTER_MAGIC, sizeof(head->magic)) ||
	    head->kind >= DOFI_COUNTER_KINDS)
		return true;
	size = dofi_counter_slot_size(head->kind);
	slots = DOFI_COUNTER_CHUNK / size - 1;
	if (head->slot_size != size || head->slots != slots)
		return true;
	to = head->kind == DOFI_COUNTER_IA   ? (char **)&p->ia
	     : head->kind == DOFI_COUNTER_EP ? (char **)&p->ep
					     : (char **)&p->evd;
	n = head->kind == DOFI_COUNTER_IA   ? &p->ias
	    : head->kind == DOFI_COUNTER_EP ? &p->eps
					    : &p->evds;
	for (uint32_t i = 1; i <= slots; i++) {
		const char *slot = chunk + (size_t)i * size;
		const struct dofi_slot_head *h =
			head->kind == DOFI_COUNTER_IA ? &((const struct dofi_ia_slot *)slot)->head
			: head->kind == DOFI_COUNTER_EP
				? &((const struct dofi_ep_slot *)slot)->head
				: &((const struct dofi_evd_slot *)slot)->head;
		char *more;

		if (!(h->life & 1))
			continue;
		more = realloc(*to, (*n + 1) * size);
		if (!more)
			return false;
		memcpy(more + *n * size, slot, size);
		*to = more;
		++*n;
	}
	return true;
}

/* Text of another process: printable, terminated. */
static void clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (!isprint((unsigned char)*text) || *text == '"' || *text == '\\')
			*text = '?';
}

static bool read_process(int fd, const struct dofi_counter_header *h, struct top_process *p)
{
	_Alignas(64) static char chunk[DOFI_COUNTER_CHUNK];

	memset(p, 0, sizeof(*p));
	p->pid = (pid_t)h->pid;
	p->api = h->api;
	memcpy(p->program, h->program, sizeof(p->program));
	clean_text(p->program, sizeof(p->program));
	p->time_ns = now_ns();
	for (uint32_t i = 0; i < h->chunks; i++) {
		off_t at = DOFI_COUNTER_HEADER + (off_t)i * DOFI_COUNTER_CHUNK;

		if (pread(fd, chunk, sizeof(chunk), at) != (ssize_t)sizeof(chunk))
			break;
		if (!add_slots(p, chunk))
			return false;
	}
	for (size_t i = 0; i < p->ias; i++) {
		clean_text(p->ia[i].name, sizeof(p->ia[i].name));
		clean_text(p->ia[i].fabric, sizeof(p->ia[i].fabric));
		clean_text(p->ia[i].netdev, sizeof(p->ia[i].netdev));
	}
	return true;
}

static void free_process(struct top_process *p)
{
	free(p->ia);
	free(p->ep);
	free(p->evd);
	free(p->peer);
}

/* False: no memory. */
static bool read_file(struct top_snapshot *snap, const char *path, pid_t pid)
{
	struct dofi_counter_header h;
	struct top_process *more;
	struct stat st;
	bool ok = true;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return true;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h)) {
		close(fd);
		return true;
	}
	switch (judge(&h, path)) {
	case DEAD:
		unlink(path);
		break;
	case ALIVE:
		if (pid && pid != (pid_t)h.pid)
			break;
		more = realloc(snap->process, (snap->count + 1) * sizeof(*more));
		ok = more != NULL;
		if (!ok)
			break;
		snap->process = more;
		ok = read_process(fd, &h, &more[snap->count++]);
		if (ok)
			top_read_tcp(&snap->process[snap->count - 1]);
		break;
	default:
		break;
	}
	close(fd);
	return ok;
}

static bool read_dir(struct top_snapshot *snap, const char *name, pid_t pid)
{
	DIR *dir = opendir(name);
	struct dirent *entry;
	char path[4096];
	bool ok = true;

	while (dir && ok && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, DOFI_COUNTER_PREFIX, strlen(DOFI_COUNTER_PREFIX)))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", name, entry->d_name) <
		    sizeof(path))
			ok = read_file(snap, path, pid);
	}
	if (dir)
		closedir(dir);
	return ok;
}

bool top_read(struct top_snapshot *snap, pid_t pid)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char usual[64];
	bool ok;

	memset(snap, 0, sizeof(*snap));
	snprintf(usual, sizeof(usual), "/run/user/%lu", (unsigned long)geteuid());
	ok = read_dir(snap, "/dev/shm", pid) && read_dir(snap, usual, pid);
	/* Processes may have been started with another value than this one. */
	if (ok && runtime && *runtime == '/' && strcmp(runtime, usual) &&
	    strcmp(runtime, "/dev/shm"))
		ok = read_dir(snap, runtime, pid);
	if (!ok)
		top_free(snap);
	return ok;
}

void top_free(struct top_snapshot *snap)
{
	for (size_t i = 0; i < snap->count; i++)
		free_process(&snap->process[i]);
	free(snap->process);
	memset(snap, 0, sizeof(*snap));
}

const struct top_process *top_same_process(const struct top_snapshot *in,
					   const struct top_process *p)
{
	for (size_t i = 0; in && i < in->count; i++)
		if (in->process[i].pid == p->pid && in->process[i].api == p->api)
			return &in->process[i];
	return NULL;
}

static bool same_head(const struct dofi_slot_head *a, const struct dofi_slot_head *b)
{
	return a->life == b->life && a->ia == b->ia && a->number == b->number;
}

const struct dofi_ep_slot *top_same_ep(const struct top_process *in, const struct dofi_ep_slot *ep)
{
	for (size_t i = 0; in && i < in->eps; i++)
		if (same_head(&in->ep[i].head, &ep->head))
			return &in->ep[i];
	return NULL;
}

const struct dofi_ia_slot *top_same_ia(const struct top_process *in, const struct dofi_ia_slot *ia)
{
	for (size_t i = 0; in && i < in->ias; i++)
		if (same_head(&in->ia[i].head, &ia->head))
			return &in->ia[i];
	return NULL;
}
