/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of the IA names that the registry library has passed on. */
#include <string.h>

#include "api/provider_list.h"
#include "base/fork_lock.h"

pthread_mutex_t dofi_provider_lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(dofi_provider_lock, DOFI_FORK_PROVIDERS)
static struct dofi_provider *providers;

struct dofi_provider *dofi_provider_record(const char *name, DAT_BOOLEAN thread_safe)
{
	struct dofi_provider *p;

	for (p = providers; p; p = p->next)
		if (!strcmp(p->info.ia_name, name) && p->info.is_thread_safe == thread_safe)
			return p;
	return NULL;
}

void dofi_provider_add(struct dofi_provider *p)
{
	p->next = providers;
	providers = p;
}

struct dofi_provider *dofi_provider_find(const char *name, DAT_BOOLEAN thread_safe)
{
	struct dofi_provider *p = NULL;

	pthread_mutex_lock(&dofi_provider_lock);
	if (name)
		p = dofi_provider_record(name, thread_safe);
	pthread_mutex_unlock(&dofi_provider_lock);
	return p && p->registered ? p : NULL;
}
