/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds and removes shared-memory files that dead processes left. Adapters leave none: their
 * memory has no name. The shm provider of libfabric, which dat_perf --raw and the efa provider
 * use, does: PID:NUMBER:NUMBER, and the file contains the pid as well. A file is stale if its
 * process is gone, or if the process that now has the pid started after the last change of the
 * file; never while a process holds a lock on it.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "info.h"
#include "json.h"
#include "memory.h"
#include "text.h"

#define MAX_PID 4194304 /* of Linux */
#define SLACK_S 10
#define PID_AT 4 /* in the file */

struct file {
	char *name;
	long pid;
	int64_t size;
	time_t changed;
	bool stale;
	const char *reason; /* why it is stale, or not */
	bool removed;
	int err; /* of unlink */
};

struct list {
	struct file *files;
	size_t num;
};

static const char *parse_digits(const char *at, unsigned long limit, unsigned long *value)
{
	const char *from = at;

	for (*value = 0; *at >= '0' && *at <= '9' && *value <= limit; at++)
		*value = *value * 10 + (unsigned long)(*at - '0');
	return at == from || *value > limit || (*from == '0' && at - from > 1) ? NULL : at;
}

/* <pid>:<number>:<number>, and nothing else */
static bool is_shm_name(const char *name, long *pid)
{
	unsigned long value;
	const char *at = parse_digits(name, MAX_PID, &value);
	int i;

	if (!at || !value)
		return false;
	*pid = (long)value;
	for (i = 0; i < 2; i++) {
		if (*at != ':')
			return false;
		at = parse_digits(at + 1, UINT32_MAX, &value);
		if (!at)
			return false;
	}
	return !*at;
}

/* Gets the state and start time of a process; false if it does not exist. */
static bool process_stat(long pid, char *state, uint64_t *start)
{
	char path[64], text[1024];
	const char *at;
	ssize_t n;
	int fd, field;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/*
	 * Field 2, the name of the program, may contain any character and ends with the last
	 * parenthesis.
	 */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return false;
	*state = at[2];
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%" SCNu64, start) == 1;
}

/* The start time of a process in seconds of the clock of file timestamps; 0 if unknown. */
static time_t process_start_time(uint64_t start)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long boot = 0;
	char line[8192];

	while (f && !boot && fgets(line, sizeof(line), f))
		if (sscanf(line, "btime %llu", &boot) != 1)
			boot = 0;
	if (f)
		fclose(f);
	return boot ? (time_t)(boot + start / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

static void file_classify(struct file *f, int fd)
{
	uint64_t start = 0;
	int32_t maker = 0;
	char state = 0;
	bool other;

	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		f->reason = "in use: locked";
		return;
	}
	if (pread(fd, &maker, sizeof(maker), PID_AT) != sizeof(maker) || maker != f->pid) {
		f->reason = "not of libfabric's shm: no pid at its start";
		return;
	}
	if (process_stat(f->pid, &state, &start)) {
		/* both clocks are coarse and may have been adjusted */
		other = process_start_time(start) > f->changed + SLACK_S;
		f->stale = state == 'Z' || state == 'X' || other;
		f->reason = !f->stale ? "in use: its process is running"
			    : other   ? "its pid belongs to another process now"
				      : "its process is dead";
		return;
	}
	if (!kill((pid_t)f->pid, 0) || errno != ESRCH) {
		f->reason = "in use: its process is running";
		return;
	}
	f->stale = true;
	f->reason = "its process is dead";
}

/*
 * Holds the lock of file_classify() until the file is removed, so that no process starts to use
 * it.
 */
static void file_check(struct list *list, int dir, const char *name, long pid, bool force)
{
	struct file *f;
	struct stat st, now;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	list->files = info_realloc(list->files, list->num + 1, sizeof(*list->files));
	f = &list->files[list->num++];
	*f = (struct file){
		.name = info_strdup(name), .pid = pid, .size = st.st_size, .changed = st.st_mtime
	};
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		f->reason = errno == EACCES ? "no permission to read it" : "cannot be opened";
		return;
	}
	file_classify(f, fd);
	if (f->stale && force) {
		if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) || now.st_ino != st.st_ino ||
		    unlinkat(dir, name, 0))
			f->err = errno;
		else
			f->removed = true;
	}
	close(fd);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static void list_print(const struct list *list, const char *dir, bool force)
{
	size_t i, stale = 0;
	int width = 4;

	for (i = 0; i < list->num; i++) {
		width = text_width(width, list->files[i].name);
		stale += list->files[i].stale;
	}
	for (i = 0; i < list->num; i++) {
		const struct file *f = &list->files[i];

		printf("%-*s  %10" PRId64 "  %-7s  %s\n", width, f->name, f->size,
		       f->removed ? "removed"
		       : f->stale ? "stale"
				  : "kept",
		       f->reason);
		if (f->err)
			fprintf(stderr, "dat_info: %s/%s: %s\n", dir, f->name, strerror(f->err));
	}
	printf("%s%zu stale %s of %zu in %s%s\n", list->num ? "\n" : "", stale,
	       stale == 1 ? "file" : "files", list->num, dir,
	       stale && !force ? "; --clean --force removes what is stale" : "");
}

static void list_json(const struct list *list, const char *dir, bool force)
{
	size_t i;

	json_object(NULL);
	json_text("directory", dir);
	json_flag("dry_run", !force);
	json_array("files");
	for (i = 0; i < list->num; i++) {
		const struct file *f = &list->files[i];

		json_object(NULL);
		json_text("name", f->name);
		json_number("pid", f->pid);
		json_number("size", f->size);
		json_flag("stale", f->stale);
		json_flag("removed", f->removed);
		json_text("reason", f->reason);
		json_text("error", f->err ? strerror(f->err) : NULL);
		json_end();
	}
	json_end();
	json_end();
}

int info_clean(const struct info_options *opts)
{
	struct list list = { NULL, 0 };
	struct dirent *entry;
	int failed = 0;
	size_t i;
	long pid;
	DIR *dir = opendir(opts->shm_dir);

	if (!dir) {
		fprintf(stderr, "dat_info: %s: %s\n", opts->shm_dir, strerror(errno));
		return 1;
	}
	while ((entry = readdir(dir)))
		if (is_shm_name(entry->d_name, &pid))
			file_check(&list, dirfd(dir), entry->d_name, pid, opts->force);
	closedir(dir);
	if (list.num)
		qsort(list.files, list.num, sizeof(*list.files), by_name);
	if (opts->json)
		list_json(&list, opts->shm_dir, opts->force);
	else
		list_print(&list, opts->shm_dir, opts->force);
	for (i = 0; i < list.num; i++) {
		failed |= list.files[i].err != 0;
		free(list.files[i].name);
	}
	free(list.files);
	return failed;
}
