/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of counters: in a file that other processes of the user can read, or private.
 *
 * Chunks stay mapped at their addresses. When the last IA is closed, the file is removed; the next
 * IA creates another one, and maps it over the chunks, which are free then. Nothing here fails an
 * open: without a file, memory is private.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/counter_file.h"
#include "base/env.h"
#include "base/file_size.h"
#include "base/fork_lock.h"
#include "base/log.h"
#include "base/param.h"

#define SLOTS_MOST 128

struct chunk {
	struct chunk *next;
	char *mem;
	enum dofi_counter_kind kind;
	uint32_t slots, free;
	bool used[SLOTS_MOST];
};

/* All of it belongs to `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(lock, DOFI_FORK_COUNTER_FILE)
static struct chunk *chunks;
static struct chunk *inherited; /* of processes before the fork: not used */
static unsigned int ias;
static struct {
	char path[PATH_MAX]; /* empty: no file */
	pid_t pid;           /* that created it */
	dev_t dev;
	ino_t ino;
	uint32_t chunks; /* that it has */
	struct dofi_counter_header *header;
} file;

/* Field 22 of /proc/self/stat; the name before it may contain anything. */
static uint64_t file_start_time(void)
{
	char text[1024], *at;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC), field;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static bool file_dir_is_mine(const char *dir)
{
	struct stat st;

	return dir && *dir == '/' && !stat(dir, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

/* The size must be allowed, and backed by memory: otherwise the program would get a signal, now or
 * at an increment. */
static int file_extend(int fd, off_t at, off_t bytes)
{
	int ret = dofi_file_resize(fd, at + bytes);

	if (ret)
		return ret;
	return fallocate(fd, 0, at, bytes) ? -errno : 0;
}

static void *file_map(int fd, off_t at, size_t bytes, void *over)
{
	int ret = file_extend(fd, at, (off_t)bytes);
	void *mem;

	if (ret) {
		errno = -ret;
		return NULL;
	}
	mem = mmap(over, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (over ? MAP_FIXED : 0), fd,
		   at);
	return mem == MAP_FAILED ? NULL : mem;
}

static void file_fill_header(struct dofi_counter_header *h)
{
	uint64_t magic;
	struct stat ns;

	h->version = DOFI_COUNTER_VERSION;
	h->header_size = DOFI_COUNTER_HEADER;
	h->chunk_size = DOFI_COUNTER_CHUNK;
	h->chunks = 0;
	h->pid = (uint32_t)getpid();
	h->api = DOFI_API;
	h->pid_ns = stat("/proc/self/ns/pid", &ns) ? 0 : (uint64_t)ns.st_ino;
	h->start_time = file_start_time();
	snprintf(h->program, sizeof(h->program), "%s", program_invocation_short_name);
	/* Last: readers ignore the file before. */
	memcpy(&magic, DOFI_COUNTER_MAGIC, sizeof(magic));
	__atomic_store_n((uint64_t *)(void *)h->magic, magic, __ATOMIC_RELEASE);
}

static void file_remove(void)
{
	if (*file.path && file.pid == getpid())
		unlink(file.path);
	*file.path = '\0';
}

static void file_create(void)
{
	const char *dir = dofi_env("XDG_RUNTIME_DIR");
	struct stat st;
	void *header;
	int fd;

	if (!dofi_param(DOFI_NUM_COUNTER_FILE) || dofi_env_privileged())
		return;
	if (!file_dir_is_mine(dir) || strlen(dir) > PATH_MAX - 64)
		dir = "/dev/shm";
	snprintf(file.path, sizeof(file.path), "%s/" DOFI_COUNTER_PREFIX "%ld.XXXXXX", dir,
		 (long)getpid());
	fd = mkostemp(file.path, O_CLOEXEC);
	if (fd < 0) {
		*file.path = '\0';
		return;
	}
	file.pid = getpid();
	header = fstat(fd, &st) ? NULL : file_map(fd, 0, DOFI_COUNTER_HEADER, file.header);
	close(fd);
	if (!header) {
		dofi_log(DOFI_LOG_INFO, "no file for counters: %s", strerror(errno));
		file_remove();
		return;
	}
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	file.chunks = 0;
	file.header = header;
	file_fill_header(header);
	dofi_counter_sweep(dir, header);
}

/* Maps the next chunk of the file, over the chunk's memory if it has any. False: not possible. */
static bool file_add(struct chunk *c)
{
	off_t at;
	struct stat st;
	void *mem;
	int fd;

	if (!*file.path || file.pid != getpid())
		return false;
	fd = open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	at = DOFI_COUNTER_HEADER + (off_t)file.chunks * DOFI_COUNTER_CHUNK;
	/* Another file of this name is none of ours. */
	mem = fstat(fd, &st) || st.st_dev != file.dev || st.st_ino != file.ino
		      ? NULL
		      : file_map(fd, at, DOFI_COUNTER_CHUNK, c->mem);
	close(fd);
	if (!mem)
		return false;
	c->mem = mem;
	*(struct dofi_counter_chunk *)mem =
		(struct dofi_counter_chunk){ .magic = DOFI_COUNTER_MAGIC,
					     .kind = (uint32_t)c->kind,
					     .slot_size = dofi_counter_slot_size(c->kind),
					     .slots = c->slots };
	__atomic_store_n(&file.header->chunks, ++file.chunks, __ATOMIC_RELEASE);
	return true;
}

static struct chunk *chunk_new(enum dofi_counter_kind kind)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->kind = kind;
	c->slots = c->free = DOFI_COUNTER_CHUNK / dofi_counter_slot_size(kind) - 1;
	if (!file_add(c)) {
		void *mem = mmap(NULL, DOFI_COUNTER_CHUNK, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mem == MAP_FAILED) {
			free(c);
			return NULL;
		}
		c->mem = mem;
	}
	c->next = chunks;
	chunks = c;
	return c;
}

static struct dofi_slot_head *slot_head(enum dofi_counter_kind kind, void *slot)
{
	return kind == DOFI_COUNTER_IA   ? &((struct dofi_ia_slot *)slot)->head
	       : kind == DOFI_COUNTER_EP ? &((struct dofi_ep_slot *)slot)->head
					 : &((struct dofi_evd_slot *)slot)->head;
}

/* The first IA: chunks of a former file, all free, move to the new one. */
static void file_begin(void)
{
	file_create();
	for (struct chunk *c = chunks; c && *file.path; c = c->next)
		if (c->free == c->slots && !file_add(c))
			break;
}

static void *slot_take(struct chunk *c, uint32_t ia, unsigned int number)
{
	uint32_t size = dofi_counter_slot_size(c->kind), i = 0, life;
	struct dofi_slot_head *head;
	char *slot;

	while (c->used[i])
		i++;
	c->used[i] = true;
	c->free--;
	slot = c->mem + (size_t)(i + 1) * size;
	head = slot_head(c->kind, slot);
	life = head->life;
	memset(slot, 0, size);
	head->ia = ia;
	head->number = number;
	__atomic_store_n(&head->life, life + 1, __ATOMIC_RELEASE);
	return slot;
}

void *dofi_counter_slot_new(enum dofi_counter_kind kind, uint32_t ia, unsigned int number)
{
	struct chunk *c;
	void *slot = NULL;

	pthread_mutex_lock(&lock);
	if (kind == DOFI_COUNTER_IA && !ias++)
		file_begin();
	for (c = chunks; c && (c->kind != kind || !c->free);)
		c = c->next;
	if (!c)
		c = chunk_new(kind);
	if (c)
		slot = slot_take(c, ia, number);
	else if (kind == DOFI_COUNTER_IA && !--ias)
		file_remove();
	pthread_mutex_unlock(&lock);
	return slot;
}

void dofi_counter_slot_free(enum dofi_counter_kind kind, void *slot)
{
	char *p = slot;
	struct chunk *c;

	pthread_mutex_lock(&lock);
	__atomic_fetch_add(&slot_head(kind, slot)->life, 1, __ATOMIC_RELEASE);
	for (c = chunks; c && (p < c->mem || p >= c->mem + DOFI_COUNTER_CHUNK);)
		c = c->next;
	if (c) {
		c->used[(size_t)(p - c->mem) / dofi_counter_slot_size(kind) - 1] = false;
		c->free++;
	}
	if (kind == DOFI_COUNTER_IA && !--ias)
		file_remove();
	pthread_mutex_unlock(&lock);
}

/* The file and its memory are the parent's. */
void dofi_counters_in_child(void)
{
	struct chunk **end = &inherited;

	while (*end)
		end = &(*end)->next;
	*end = chunks;
	chunks = NULL;
	ias = 0;
	*file.path = '\0';
	file.header = NULL;
}

/* A program may end without closing its IAs. */
__attribute__((destructor)) static void file_at_exit(void)
{
	pthread_mutex_lock(&lock);
	file_remove();
	pthread_mutex_unlock(&lock);
}
