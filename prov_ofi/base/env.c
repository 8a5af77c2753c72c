/* SPDX-License-Identifier: BSD-2-Clause */
/* Overrides or removes environment variables while other threads read the environment. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/env.h"
#include "base/fork_lock.h"

/* An environment built here. Never freed: other threads may still be reading it. */
struct held {
	struct held *next;
	char **before;             /* environment that this one replaced */
	size_t n, count;           /* count: entries of `before` at that time */
	char *text[DOFI_ENV_MOST]; /* "NAME=VALUE" */
	char *array[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(lock, DOFI_FORK_ENV)
static struct held *all, *current;

const char *dofi_env(const char *name)
{
	const char *text;

	pthread_mutex_lock(&lock);
	text = getenv(name);
	pthread_mutex_unlock(&lock);
	return text;
}

const char *dofi_env_secure(const char *name)
{
	const char *text;

	pthread_mutex_lock(&lock);
	text = secure_getenv(name);
	pthread_mutex_unlock(&lock);
	return text;
}

char **dofi_env_all(void)
{
	return __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
}

static void env_replace(char **with)
{
	__atomic_store_n(&environ, with, __ATOMIC_RELEASE);
}

static char **env_find(char **array, const char *name, size_t len)
{
	while (*array && (strncmp(*array, name, len) || (*array)[len] != '='))
		array++;
	return array;
}

static bool env_put(struct held *h, const struct dofi_env_setting *s)
{
	size_t len = strlen(s->name);
	char **at = env_find(h->array, s->name, len);
	char *text = malloc(len + strlen(s->value) + 2);

	if (!text)
		return false;
	sprintf(text, "%s=%s", s->name, s->value);
	h->text[h->n++] = text;
	/* The array has a spare NULL after the last entry. */
	*at = text;
	return true;
}

bool dofi_env_privileged(void)
{
	return getauxval(AT_SECURE);
}

static bool env_has_prefix(const char *entry, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(entry, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

bool dofi_env_remove(const char *const *prefixes, size_t n, void (*removed)(const char *entry))
{
	size_t count = 0, kept = 0, found = 0;
	char **without;

	while (environ && environ[count])
		found += env_has_prefix(environ[count++], prefixes, n);
	if (!found)
		return true;
	without = malloc((count - found + 1) * sizeof(*without));
	if (!without)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!env_has_prefix(environ[i], prefixes, n))
			without[kept++] = environ[i];
		else
			removed(environ[i]);
	without[kept] = NULL;
	pthread_mutex_lock(&lock);
	env_replace(without);
	pthread_mutex_unlock(&lock);
	return true;
}

static struct held *env_make(const struct dofi_env_setting *settings, size_t n)
{
	size_t count = 0;
	struct held *h;

	while (environ && environ[count])
		count++;
	h = calloc(1, sizeof(*h) + (count + n + 1) * sizeof(h->array[0]));
	if (!h)
		return NULL;
	h->count = count;
	for (size_t i = 0; i < count; i++)
		h->array[i] = environ[i];
	for (size_t i = 0; i < n; i++)
		if (!env_put(h, &settings[i])) {
			while (h->n)
				free(h->text[--h->n]);
			free(h);
			return NULL;
		}
	return h;
}

static bool env_has_settings(const struct held *h, const struct dofi_env_setting *settings,
			     size_t n)
{
	bool same = h->n == n;

	for (size_t i = 0; i < n && same; i++) {
		size_t len = strlen(settings[i].name);

		same = !strncmp(h->text[i], settings[i].name, len) && h->text[i][len] == '=' &&
		       !strcmp(h->text[i] + len + 1, settings[i].value);
	}
	return same;
}

/* True if `h` equals the present environment except for its settings. */
static bool env_is_current(const struct held *h)
{
	size_t i, own;

	for (i = 0; i < h->count; i++) {
		for (own = 0; own < h->n && h->array[i] != h->text[own]; own++)
			;
		if (!environ || !environ[i] ||
		    (own == h->n
			     ? h->array[i] != environ[i]
			     : strncmp(environ[i], h->text[own], strcspn(h->text[own], "=") + 1)))
			return false;
	}
	return !environ || !environ[i];
}

static struct held *env_find_held(const struct dofi_env_setting *settings, size_t n)
{
	struct held *h = all;

	while (h && !(env_has_settings(h, settings, n) && env_is_current(h)))
		h = h->next;
	return h;
}

bool dofi_env_hold(const struct dofi_env_setting *settings, size_t n)
{
	struct held *h;

	if (!n || n > DOFI_ENV_MOST)
		return !n;
	pthread_mutex_lock(&lock);
	h = env_find_held(settings, n);
	if (!h) {
		h = env_make(settings, n);
		if (!h) {
			pthread_mutex_unlock(&lock);
			return false;
		}
		h->next = all;
		all = h;
	}
	h->before = environ;
	current = h;
	env_replace(h->array);
	pthread_mutex_unlock(&lock);
	return true;
}

/* Undoes the settings one by one: the program or a library has called setenv since, and the C
 * library has copied the array. */
static void env_undo(const struct held *h)
{
	for (size_t i = 0; i < h->n; i++) {
		size_t len = strcspn(h->text[i], "=");
		char *name = strndup(h->text[i], len);
		char **old = h->before ? env_find(h->before, h->text[i], len) : NULL;

		if (name && old && *old)
			setenv(name, *old + len + 1, 1);
		else if (name)
			unsetenv(name);
		free(name);
	}
}

void dofi_env_release(void)
{
	pthread_mutex_lock(&lock);
	if (current && environ == current->array)
		env_replace(current->before);
	else if (current)
		env_undo(current);
	current = NULL;
	pthread_mutex_unlock(&lock);
}
