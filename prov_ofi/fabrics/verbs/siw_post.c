/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes posts to soft-iWARP report what has happened to the request, and reads complete once.
 *
 * QUIRK libfabric verbs: the library of soft-iWARP puts a request into the queue that it shares
 * with the driver, and then calls the driver. While the connection ends, the call returns
 * ENOTCONN, and so does the post, but the request stays in the queue and completes. libfabric
 * frees its record of a request that was not posted, and again when it completes, so two later
 * requests of that completion queue get one record, and the completion of one is reported as that
 * of the other (seen with 1.17). The function of the device by which libfabric posts is replaced
 * by one that returns success in this case. Requests that the driver does not complete are flushed
 * by this library when the connection has ended.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/fork_lock.h"
#include "base/log.h"
#include "fabrics/verbs/device.h"
#include "fabrics/verbs/device_calls.h"
#include "fabrics/verbs/siw_post.h"
#include "fabrics/verbs/siw_reads.h"

typedef int (*post_send_fn)(struct device_queue *queue, struct device_send *send,
			    struct device_send **refused);

typedef int (*poll_cq_fn)(struct device_queue *queue, int most, struct device_completion *done);

/* All devices of the driver have the same. */
static _Atomic(post_send_fn) device_post;
static _Atomic(poll_cq_fn) device_poll;

static int siw_poll(struct device_queue *queue, int most, struct device_completion *done)
{
	poll_cq_fn poll = atomic_load_explicit(&device_poll, memory_order_acquire);
	int n, left;

	do {
		n = poll(queue, most, done);
		left = n > 0 ? dofi_siw_reads_take(done, n) : n;
	} while (n > 0 && !left);
	return left;
}

/* libfabric posts one request at a time. */
static int siw_post(struct device_queue *queue, struct device_send *send,
		    struct device_send **refused)
{
	uint64_t id = send->id;
	int ret;

	if (send->opcode == DEVICE_SEND_READ && !send->next)
		send->id = dofi_siw_read_mark(id);
	ret = atomic_load_explicit(&device_post, memory_order_acquire)(queue, send, refused);
	send->id = id;
	if (ret == -ENOTCONN || ret == ENOTCONN || (ret == -1 && errno == ENOTCONN))
		return 0;
	return ret;
}

/* Before the posts: reads are marked from then on. */
static bool siw_poll_replace(struct device_calls *calls)
{
	poll_cq_fn present = __atomic_load_n(&calls->poll_cq, __ATOMIC_RELAXED), none = NULL;

	if (present == siw_poll)
		return true;
	if (!atomic_compare_exchange_strong(&device_poll, &none, present) && none != present)
		return false;
	__atomic_store_n(&calls->poll_cq, siw_poll, __ATOMIC_RELEASE);
	return true;
}

static void siw_post_replace(struct device_calls *calls)
{
	post_send_fn present = __atomic_load_n(&calls->post_send, __ATOMIC_RELAXED), none = NULL;

	if (present == siw_post || !siw_poll_replace(calls))
		return;
	if (!atomic_compare_exchange_strong(&device_post, &none, present) && none != present)
		return;
	__atomic_store_n(&calls->post_send, siw_post, __ATOMIC_RELEASE);
}

/* The libraries of which libfabric has taken its devices. */
static void *siw_post_library(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(lock, DOFI_FORK_SIW)

void dofi_siw_post_settle(const struct dofi_fab *fab)
{
	void *cm = siw_post_library("librdmacm.so.1"), *verbs = siw_post_library("libibverbs.so.1");
	struct device_calls **(*get)(int *);
	const char *(*name_of)(void *);
	void (*release)(struct device_calls **);
	struct device_calls **all;

	*(void **)&get = cm ? dlsym(cm, "rdma_get_devices") : NULL;
	*(void **)&release = cm ? dlsym(cm, "rdma_free_devices") : NULL;
	*(void **)&name_of = verbs ? dlsym(verbs, "ibv_get_device_name") : NULL;
	all = get && release && name_of ? get(NULL) : NULL;
	if (!all)
		dofi_log(DOFI_LOG_WARN,
			 "%s: a disconnect by the peer while messages are sent or read "
			 "can disturb other connections",
			 fab->device);
	pthread_mutex_lock(&lock);
	for (int i = 0; all && all[i]; i++)
		if (!strcmp(name_of(all[i]->device), fab->device))
			siw_post_replace(all[i]);
	pthread_mutex_unlock(&lock);
	if (all)
		release(all);
	if (cm)
		dlclose(cm);
	if (verbs)
		dlclose(verbs);
}
