/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the provider library of a name, and unloads it. */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "load.h"
#include "registry.h"

#ifndef DATI_PROVIDER_DIR
#error "DATI_PROVIDER_DIR must name the directory of the installed provider"
#endif

/*
 * Around dlopen and dlclose, which the loader serialises anyway, and around giving a library our
 * collector. Recursive, for a constructor may open another IA.
 */
static pthread_mutex_t loader_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

__attribute__((format(printf, 4, 5)))
static void note_way(struct dati_attempt *attempt, const struct dati_static *st,
		     const struct dati_way *way, const char *format, ...)
{
	char origin[DATI_NOTE_SIZE], words[DATI_NOTE_SIZE];
	va_list args;

	dati_way_origin(st, way, origin, sizeof(origin));
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	dati_diag_note(attempt, "%s: %s", origin, words);
}

static void *open_in(const char *dir, size_t dir_len, const char *library)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/%s", (int)dir_len, dir, library) >=
	    (int)sizeof(path) || access(path, R_OK))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/*
 * Our own provider is found beside libdat and where it was meant to be installed, even when
 * the loader does not search there.
 */
static void *open_own(const char *library)
{
	void *handle = NULL;
	const char *slash;
	Dl_info self;

	if (dladdr((const void *)&dati_lock, &self) && self.dli_fname &&
	    (slash = strrchr(self.dli_fname, '/')))
		handle = open_in(self.dli_fname, (size_t)(slash - self.dli_fname), library);
	if (!handle)
		handle = open_in(DATI_PROVIDER_DIR, strlen(DATI_PROVIDER_DIR), library);
	return handle;
}

/* The loader's words of the first try tell most, unless a later one found a broken file. */
static void *open_library(const char *library, char *why, size_t size)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	const char *words;

	if (handle)
		return handle;
	words = dlerror();
	snprintf(why, size, "%s", words ? words : library);
	if (strcmp(library, DATI_OWN_PROVIDER))
		return NULL;
	handle = open_own(library);
	words = handle ? NULL : dlerror();
	if (words)
		snprintf(why, size, "%s", words);
	return handle;
}

static bool registered(const DAT_PROVIDER_INFO *key)
{
	bool found;

	pthread_mutex_lock(&dati_lock);
	found = dati_dynamic_find(key) != NULL;
	pthread_mutex_unlock(&dati_lock);
	return found;
}

/* True when another entry uses the same library and has its reasons collected. */
static bool reported_elsewhere(const struct dati_static *st)
{
	const struct dati_static *other;

	for (other = dati_static_all(); other; other = other->next)
		if (other != st && other->library == st->library && other->reports)
			return true;
	return false;
}

/*
 * A library that serves several names gets the collector with the first of them and loses it
 * with the last. Called with the loader lock held: providers need no lock of their own.
 */
static void collect_reasons(struct dati_static *st, bool collect)
{
	bool elsewhere;

	if (!st->set_report)
		return;
	pthread_mutex_lock(&dati_lock);
	elsewhere = reported_elsewhere(st);
	st->reports = collect;
	pthread_mutex_unlock(&dati_lock);
	if (!elsewhere)
		st->set_report(collect ? dati_diag_collect : NULL);
}

/* A registration of the key that `init` did not make stays: it is the program's own. */
static void close_library(struct dati_static *st, bool has_registered)
{
	const void *image;

	if (has_registered) {
		pthread_mutex_lock(&dati_lock);
		dati_dynamic_forget(&st->info);
		pthread_mutex_unlock(&dati_lock);
	}
	pthread_mutex_lock(&loader_lock);
	collect_reasons(st, false);
	dlclose(st->library);

	/*
	 * What it registered under other names goes, too, unless it is still mapped. The loader
	 * lock is kept, for the next library may be mapped at the same address.
	 */
	image = dati_image_of(st->image) == st->image ? NULL : st->image;
	pthread_mutex_lock(&dati_lock);
	dati_dynamic_forget_image(image);
	st->library = NULL;
	st->set_report = NULL;
	st->way = NULL;
	pthread_mutex_unlock(&dati_lock);
	pthread_mutex_unlock(&loader_lock);
}

/* The loader's words begin with the file that it could not use. */
static void advise(struct dati_attempt *attempt, const struct dati_static *st,
		   const struct dati_way *way, const char *why)
{
	char origin[DATI_NOTE_SIZE];
	size_t len = strlen(way->library);

	dati_way_origin(st, way, origin, sizeof(origin));
	if (!strcmp(way->library, DATI_OWN_PROVIDER))
		dati_diag_remedy(attempt, "install %s beside " DATI_LIB ", or LD_LIBRARY_PATH with "
				 "its directory", way->library);
	else if (strncmp(why, way->library, len) || strncmp(why + len, ": ", 2) ||
		 !strstr(why, "cannot open"))
		dati_diag_remedy(attempt, "ldd %.150s", way->library);
	else
		dati_diag_remedy(attempt, "install %.60s, or correct the library in %.100s",
				 way->library, origin);
}

/* Opens the library of a way and finds its entry points; false leaves nothing behind. */
static bool enter_library(struct dati_static *st, const struct dati_way *way,
			  DAT_PROVIDER_INIT_FUNC *init, struct dati_attempt *attempt)
{
	char why[DATI_NOTE_SIZE];
	void *library;

	library = open_library(way->library, why, sizeof(why));
	if (!library) {
		note_way(attempt, st, way, "%s", why);
		advise(attempt, st, way, why);
		return false;
	}
	*(void **)init = dlsym(library, DAT_PROVIDER_INIT_FUNC_STR);
	*(void **)&st->fini = dlsym(library, DAT_PROVIDER_FINI_FUNC_STR);
	if (!*init || !st->fini) {
		note_way(attempt, st, way, "%s: %s is missing", way->library,
			 *init ? DAT_PROVIDER_FINI_FUNC_STR : DAT_PROVIDER_INIT_FUNC_STR);
		dati_diag_remedy(attempt, "another library than %.100s: it is no DAT provider",
				 way->library);
		dlclose(library);
		return false;
	}
	*(void **)&st->set_report = dlsym(library, "dapl_ofi_set_report");
	st->image = dati_image_of(*(void **)init);
	pthread_mutex_lock(&dati_lock);
	st->library = library;
	st->way = way;
	pthread_mutex_unlock(&dati_lock);
	collect_reasons(st, true);
	return true;
}

/* True when the library's init has registered the name; nothing stays behind otherwise. */
static bool try_way(struct dati_static *st, const struct dati_way *way,
		    struct dati_attempt *attempt, bool *loaded)
{
	char legacy[DAT_NAME_MAX_LENGTH + 16];
	const char *params = way->params;
	DAT_PROVIDER_INIT_FUNC init;
	bool entered, known;

	pthread_mutex_lock(&loader_lock);
	entered = enter_library(st, way, &init, attempt);
	pthread_mutex_unlock(&loader_lock);
	if (!entered)
		return false;
	*loaded = true;
	if (way->last_resort && attempt)
		attempt->last_resort_tried = true;
	if (!params) {
		dati_legacy_params(st->info.ia_name, legacy, sizeof(legacy));
		params = legacy;
	}
	known = registered(&st->info);
	dati_log(DATI_DBG_PROVIDER, "%s: init for " DATI_KEY_FORMAT, way->library,
		 DATI_KEY_ARGS(&st->info));
	init(&st->info, params);
	if (!known && registered(&st->info))
		return true;
	note_way(attempt, st, way, "%s: its dat_provider_init did not register the name",
		 way->library);
	close_library(st, false);
	return false;
}

/*
 * The libraries of an entry are tried until one can be loaded; whether that one registers the
 * name decides. A last resort is tried in any case.
 */
static bool load_entry(struct dati_static *st, enum dati_choice choice,
		       struct dati_attempt *attempt)
{
	const struct dati_way *way;
	bool loaded = false;

	for (way = st->ways; way; way = way->next) {
		if (!way->last_resort && (loaded || choice == DATI_LAST_RESORT))
			continue;
		if (try_way(st, way, attempt, &loaded))
			return true;
	}
	return false;
}

static bool has_way(const struct dati_static *st, enum dati_choice choice)
{
	const struct dati_way *way = st->ways;

	if (choice == DATI_LAST_RESORT)
		while (way && !way->last_resort)
			way = way->next;
	return way != NULL;
}

/* Called with the lock held; ends what begin_visit began. */
static void end_visit(struct dati_static *st)
{
	if (!--st->visitors && st->transient && st->state == DATI_IDLE)
		dati_static_drop(st);
}

/*
 * Called with the lock held: waits until nobody loads or unloads the entry. False when that
 * somebody is this very thread, calling back out of its provider.
 */
static bool begin_visit(struct dati_static *st)
{
	st->visitors++;
	while (st->state == DATI_BUSY) {
		if (pthread_equal(st->worker, pthread_self())) {
			end_visit(st);
			return false;
		}
		pthread_cond_wait(&dati_changed, &dati_lock);
	}
	return true;
}

/* Called with the lock held, which is released while the entry is being worked upon. */
static void begin_work(struct dati_static *st)
{
	st->state = DATI_BUSY;
	st->worker = pthread_self();
	pthread_mutex_unlock(&dati_lock);
}

static void end_work(struct dati_static *st, enum dati_state state)
{
	pthread_mutex_lock(&dati_lock);
	st->state = state;
	pthread_cond_broadcast(&dati_changed);
}

struct dati_static *dati_load(const DAT_PROVIDER_INFO *key, enum dati_choice choice,
			      struct dati_attempt *attempt)
{
	struct dati_static *st;
	bool ok;

	pthread_mutex_lock(&dati_lock);
	if (choice == DATI_ANY_WAY)
		st = dati_static_resolve(key);
	else
		st = attempt->last_resort_tried ? NULL : dati_static_find(key);
	if (!st || !has_way(st, choice) || !begin_visit(st)) {
		pthread_mutex_unlock(&dati_lock);
		return NULL;
	}
	if (st->state == DATI_IDLE) {
		begin_work(st);
		ok = load_entry(st, choice, attempt);
		end_work(st, ok ? DATI_LOADED : DATI_IDLE);
	} else {
		/* Others keep the first library in use: it is no dead hardware. */
		ok = choice == DATI_ANY_WAY || st->way->last_resort;
	}
	if (ok)
		st->uses++;
	end_visit(st);
	pthread_mutex_unlock(&dati_lock);
	return ok ? st : NULL;
}

/* Called with the lock held, which is released while fini runs. */
static void drop_use(struct dati_static *st)
{
	st->visitors++;
	if (!--st->uses) {
		begin_work(st);
		dati_log(DATI_DBG_PROVIDER, "%s: fini for " DATI_KEY_FORMAT,
			 st->way->library, DATI_KEY_ARGS(&st->info));
		st->fini(&st->info);
		close_library(st, true);
		end_work(st, DATI_IDLE);
	}
	end_visit(st);
}

void dati_unload(struct dati_static *st)
{
	pthread_mutex_lock(&dati_lock);
	drop_use(st);
	pthread_mutex_unlock(&dati_lock);
}

bool dati_unload_key(const DAT_PROVIDER_INFO *key)
{
	struct dati_static *st;

	pthread_mutex_lock(&dati_lock);
	st = dati_static_find(key);
	if (st && st->uses)
		drop_use(st);
	else
		st = NULL;
	pthread_mutex_unlock(&dati_lock);
	return st != NULL;
}
