/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a fuzz target where the compiler has no fuzzer.
 *
 *   driver SECONDS DIRECTORY
 *
 * Runs each file of the directory unchanged; then, for SECONDS, with a few bytes changed, put
 * in, left out or taken from another file. Nothing is learned meanwhile: that is what libFuzzer is
 * for.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define FILES 256
#define ROOM 4096

static struct input {
	size_t len;
	uint8_t bytes[ROOM];
} inputs[FILES], current;
static size_t count;
static unsigned int seed;

static unsigned int below(size_t n)
{
	return (unsigned int)rand_r(&seed) % (unsigned int)n;
}

static void load(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[4096];
	FILE *f;

	while (d && count < FILES && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		f = fopen(path, "rb");
		if (!f)
			continue;
		inputs[count].len = fread(inputs[count].bytes, 1, ROOM, f);
		count++;
		fclose(f);
	}
	if (d)
		closedir(d);
}

static void mutate(void)
{
	const struct input *other = &inputs[below(count)];
	size_t at = below(current.len + 1), n;

	switch (below(5)) {
	case 0:
		if (at < current.len)
			current.bytes[at] = (uint8_t)below(256);
		break;
	case 1:
		if (at < current.len)
			current.bytes[at] ^= (uint8_t)(1u << below(8));
		break;
	case 2:
		if (at < current.len) {
			memmove(current.bytes + at, current.bytes + at + 1, current.len - at - 1);
			current.len--;
		}
		break;
	case 3:
		if (current.len < ROOM) {
			memmove(current.bytes + at + 1, current.bytes + at, current.len - at);
			current.bytes[at] = (uint8_t)below(256);
			current.len++;
		}
		break;
	default:
		n = below(other->len + 1);
		if (n > ROOM - at)
			n = ROOM - at;
		memcpy(current.bytes + at, other->bytes, n);
		if (at + n > current.len)
			current.len = at + n;
		break;
	}
}

/* Saves the input that failed. */
static void keep(int sig)
{
	FILE *f = fopen("fuzz-crash", "wb");

	if (f) {
		fwrite(current.bytes, 1, current.len, f);
		fclose(f);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

int main(int argc, char **argv)
{
	unsigned long tried = 0;
	time_t end;

	if (argc != 3)
		return 2;
	signal(SIGABRT, keep);
	signal(SIGSEGV, keep);
	load(argv[2]);
	if (!count) {
		fprintf(stderr, "%s: no inputs\n", argv[2]);
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		current = inputs[i];
		LLVMFuzzerTestOneInput(current.bytes, current.len);
	}
	end = time(NULL) + atol(argv[1]);
	seed = (unsigned int)end ^ (unsigned int)getpid();
	printf("seed %u\n", seed);
	while (time(NULL) < end) {
		current = inputs[below(count)];
		for (unsigned int n = 1 + below(6); n; n--)
			mutate();
		LLVMFuzzerTestOneInput(current.bytes, current.len);
		tried++;
	}
	printf("%zu inputs, %lu changed ones\n", count, tried);
	return 0;
}
