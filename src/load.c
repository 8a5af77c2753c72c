/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the provider library of a name, and unloads it. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
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

__attribute__((format(printf, 4, 5))) static void candidate_add_reason(
	struct dati_attempt *attempt, const struct dati_static *st,
	const struct dati_candidate *candidate, const char *format, ...)
{
	char origin[DATI_REASON_SIZE], reason[DATI_REASON_SIZE];
	va_list args;

	dati_candidate_origin(st, candidate, origin, sizeof(origin));
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	dati_diag_add_reason(attempt, "%s: %s", origin, reason);
}

static void *dlopen_in_dir(const char *dir, size_t dir_len, const char *library)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/%s", (int)dir_len, dir, library) >=
		    (int)sizeof(path) ||
	    access(path, R_OK))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/*
 * Our own provider is also searched in the directory of libdat and in the directory of its
 * installation, even when the loader does not search there.
 */
static void *dlopen_own_provider(const char *library)
{
	void *handle = NULL;
	const char *slash;
	Dl_info self;

	if (dladdr((const void *)&dati_lock, &self) && self.dli_fname &&
	    (slash = strrchr(self.dli_fname, '/')))
		handle = dlopen_in_dir(self.dli_fname, (size_t)(slash - self.dli_fname), library);
	if (!handle)
		handle = dlopen_in_dir(DATI_PROVIDER_DIR, strlen(DATI_PROVIDER_DIR), library);
	return handle;
}

/* Keeps the error message of the first dlopen, unless a later one found a broken file. */
static void *dlopen_candidate(const char *library, char *error, size_t size)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	const char *message;

	if (handle)
		return handle;
	message = dlerror();
	snprintf(error, size, "%s", message ? message : library);
	if (strcmp(library, DATI_OWN_PROVIDER))
		return NULL;
	handle = dlopen_own_provider(library);
	message = handle ? NULL : dlerror();
	if (message)
		snprintf(error, size, "%s", message);
	return handle;
}

static bool key_is_registered(const DAT_PROVIDER_INFO *key)
{
	bool found;

	pthread_mutex_lock(&dati_lock);
	found = dati_dynamic_find(key) != NULL;
	pthread_mutex_unlock(&dati_lock);
	return found;
}

/* True if another entry uses the same library and has set the collector. */
static bool library_has_collector(const struct dati_static *st)
{
	const struct dati_static *other;

	for (other = dati_static_all(); other; other = other->next)
		if (other != st && other->library == st->library && other->reports)
			return true;
	return false;
}

/*
 * A library that provides several names gets the collector with the first and loses it with the
 * last. Called with the loader lock held, so that providers need no lock for it.
 */
static void library_set_collector(struct dati_static *st, bool collect)
{
	bool shared;

	if (!st->set_report)
		return;
	pthread_mutex_lock(&dati_lock);
	shared = library_has_collector(st);
	st->reports = collect;
	pthread_mutex_unlock(&dati_lock);
	if (!shared)
		st->set_report(collect ? dati_diag_collect : NULL);
}

/* Keeps a registration that `init` did not make: it belongs to the program. */
static void library_close(struct dati_static *st, bool has_registration)
{
	const void *image;

	if (has_registration) {
		pthread_mutex_lock(&dati_lock);
		dati_dynamic_remove(&st->info);
		pthread_mutex_unlock(&dati_lock);
	}
	pthread_mutex_lock(&dati_loader_lock);
	library_set_collector(st, false);
	dlclose(st->library);

	/*
	 * Removes what it registered under other names, unless it is still mapped. The loader lock
	 * stays held, since the next library may be mapped at the same address.
	 */
	image = dati_image_of(st->image) == st->image ? NULL : st->image;
	pthread_mutex_lock(&dati_lock);
	dati_dynamic_remove_image(image);
	st->library = NULL;
	st->set_report = NULL;
	st->ha_related = NULL;
	st->candidate = NULL;
	pthread_mutex_unlock(&dati_lock);
	pthread_mutex_unlock(&dati_loader_lock);
}

/* The message of dlerror begins with the file that could not be loaded. */
static void suggest_remedy(struct dati_attempt *attempt, const struct dati_static *st,
			   const struct dati_candidate *candidate, const char *error)
{
	char origin[DATI_REASON_SIZE];
	size_t len = strlen(candidate->library);

	dati_candidate_origin(st, candidate, origin, sizeof(origin));
	if (!strcmp(candidate->library, DATI_OWN_PROVIDER))
		dati_diag_set_remedy(attempt,
				     "install %s next to " DATI_LIB ", or add its directory "
				     "to LD_LIBRARY_PATH",
				     candidate->library);
	else if (strncmp(error, candidate->library, len) || strncmp(error + len, ": ", 2) ||
		 !strstr(error, "cannot open"))
		dati_diag_set_remedy(attempt, "run ldd %.150s to find what it lacks",
				     candidate->library);
	else
		dati_diag_set_remedy(attempt, "install %.60s, or correct the library in %.100s",
				     candidate->library, origin);
}

/* Opens the library of a candidate and finds its entry points; on failure everything is undone. */
static bool candidate_open(struct dati_static *st, const struct dati_candidate *candidate,
			   DAT_PROVIDER_INIT_FUNC *init, struct dati_attempt *attempt)
{
	char error[DATI_REASON_SIZE];
	void *library;

	library = dlopen_candidate(candidate->library, error, sizeof(error));
	if (!library) {
		candidate_add_reason(attempt, st, candidate, "%s", error);
		suggest_remedy(attempt, st, candidate, error);
		return false;
	}
	*(void **)init = dlsym(library, DAT_PROVIDER_INIT_FUNC_STR);
	*(void **)&st->fini = dlsym(library, DAT_PROVIDER_FINI_FUNC_STR);
	if (!*init || !st->fini) {
		candidate_add_reason(
			attempt, st, candidate, "%s: %s is missing", candidate->library,
			*init ? DAT_PROVIDER_FINI_FUNC_STR : DAT_PROVIDER_INIT_FUNC_STR);
		dati_diag_set_remedy(attempt,
				     "name a library other than %.100s: it is not a DAT provider",
				     candidate->library);
		dlclose(library);
		return false;
	}
	*(void **)&st->set_report = dlsym(library, "dapl_ofi_set_report");
	*(void **)&st->ha_related = dlsym(library, "dapl_ofi_ha_related");
	st->image = dati_image_of(*(void **)init);
	pthread_mutex_lock(&dati_lock);
	st->library = library;
	st->candidate = candidate;
	pthread_mutex_unlock(&dati_lock);
	library_set_collector(st, true);
	return true;
}

/* True if the library's init has registered the name; otherwise everything is undone. */
static bool candidate_load(struct dati_static *st, const struct dati_candidate *candidate,
			   struct dati_attempt *attempt, bool *loaded)
{
	char legacy[DAT_NAME_MAX_LENGTH + 16];
	const char *params = candidate->params;
	DAT_PROVIDER_INIT_FUNC init;
	bool opened, known, no_memory;

	pthread_mutex_lock(&dati_loader_lock);
	opened = candidate_open(st, candidate, &init, attempt);
	pthread_mutex_unlock(&dati_loader_lock);
	if (!opened)
		return false;
	*loaded = true;
	if (candidate->last_resort && attempt)
		attempt->last_resort_tried = true;
	if (!params) {
		dati_legacy_params(st->info.ia_name, legacy, sizeof(legacy));
		params = legacy;
	}
	known = key_is_registered(&st->info);
	dati_log(DATI_DBG_PROVIDER, "%s: init for " DATI_KEY_FORMAT, candidate->library,
		 DATI_KEY_ARGS(&st->info));
	/* It returns nothing: the allocation that failed has left its error. */
	errno = 0;
	init(&st->info, params);
	no_memory = errno == ENOMEM;
	if (!known && key_is_registered(&st->info))
		return true;
	if (attempt && no_memory)
		attempt->no_memory = true;
	candidate_add_reason(attempt, st, candidate,
			     "%s: its dat_provider_init did not register the name",
			     candidate->library);
	library_close(st, false);
	return false;
}

/*
 * Tries the libraries of an entry until one can be loaded; that one must register the name. A last
 * resort is always tried.
 */
static bool entry_load(struct dati_static *st, enum dati_choice choice,
		       struct dati_attempt *attempt)
{
	const struct dati_candidate *candidate;
	bool loaded = false;

	for (candidate = st->candidates; candidate; candidate = candidate->next) {
		if (!candidate->last_resort && (loaded || choice == DATI_LAST_RESORT))
			continue;
		if (candidate_load(st, candidate, attempt, &loaded))
			return true;
	}
	return false;
}

static bool entry_has_candidate(const struct dati_static *st, enum dati_choice choice)
{
	const struct dati_candidate *candidate = st->candidates;

	if (choice == DATI_LAST_RESORT)
		while (candidate && !candidate->last_resort)
			candidate = candidate->next;
	return candidate != NULL;
}

/* Called with the lock held; drops the reference of entry_hold. */
static void entry_release(struct dati_static *st)
{
	if (!--st->holders && st->transient && st->state == DATI_IDLE)
		dati_static_drop(st);
}

/*
 * Called with the lock held: waits until no thread loads or unloads the entry. False if the
 * calling thread itself does, through a callback of its provider.
 */
static bool entry_hold(struct dati_static *st)
{
	st->holders++;
	while (st->state == DATI_BUSY) {
		if (pthread_equal(st->busy_thread, pthread_self())) {
			entry_release(st);
			return false;
		}
		pthread_cond_wait(&dati_changed, &dati_lock);
	}
	return true;
}

/*
 * Called with the lock held; returns with it released while this thread loads or unloads the
 * entry.
 */
static void entry_set_busy(struct dati_static *st)
{
	st->state = DATI_BUSY;
	st->busy_thread = pthread_self();
	pthread_mutex_unlock(&dati_lock);
}

static void entry_set_state(struct dati_static *st, enum dati_state state)
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
	if (choice == DATI_ANY_CANDIDATE)
		st = dati_static_resolve(key);
	else
		st = attempt->last_resort_tried ? NULL : dati_static_find(key);
	if (!st || !entry_has_candidate(st, choice) || !entry_hold(st)) {
		pthread_mutex_unlock(&dati_lock);
		return NULL;
	}
	if (st->state == DATI_IDLE) {
		entry_set_busy(st);
		ok = entry_load(st, choice, attempt);
		entry_set_state(st, ok ? DATI_LOADED : DATI_IDLE);
	} else {
		/* Other users of the first library show that its hardware is present. */
		ok = choice == DATI_ANY_CANDIDATE || st->candidate->last_resort;
	}
	if (ok)
		st->uses++;
	entry_release(st);
	pthread_mutex_unlock(&dati_lock);
	return ok ? st : NULL;
}

/* Called with the lock held, which is released while fini runs. */
static void entry_drop_use(struct dati_static *st)
{
	st->holders++;
	if (!--st->uses) {
		entry_set_busy(st);
		dati_log(DATI_DBG_PROVIDER, "%s: fini for " DATI_KEY_FORMAT, st->candidate->library,
			 DATI_KEY_ARGS(&st->info));
		st->fini(&st->info);
		library_close(st, true);
		entry_set_state(st, DATI_IDLE);
	}
	entry_release(st);
}

void dati_unload(struct dati_static *st)
{
	pthread_mutex_lock(&dati_lock);
	entry_drop_use(st);
	pthread_mutex_unlock(&dati_lock);
}

bool dati_unload_key(const DAT_PROVIDER_INFO *key)
{
	struct dati_static *st;

	pthread_mutex_lock(&dati_lock);
	st = dati_static_find(key);
	if (st && st->uses)
		entry_drop_use(st);
	else
		st = NULL;
	pthread_mutex_unlock(&dati_lock);
	return st != NULL;
}
