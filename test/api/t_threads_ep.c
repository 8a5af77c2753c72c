/* SPDX-License-Identifier: BSD-2-Clause */
/* One endpoint that several threads use while it is reset or freed. */
#include "rig.h"

#define FREES 500

static void change_until_it_is_freed(void *arg)
{
	const struct side *s = arg;
	DAT_EP_PARAM param = { .recv_evd_handle = s->recv, .request_evd_handle = s->req };
	DAT_RETURN ret;

	do {
		ret = dat_ep_reset(s->ep);
		if (ret == DAT_SUCCESS)
			ret = dat_ep_modify(s->ep,
					    DAT_EP_FIELD_RECV_EVD_HANDLE |
						    DAT_EP_FIELD_REQUEST_EVD_HANDLE,
					    &param);
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

/* It is freed at any point of the other's calls, and no EVD is left in use. */
TEST_LIMIT(threads_ep, is_freed_while_another_resets_and_modifies_it, 60)
{
	struct dt_thread t;
	struct side s;
	struct node n;

	node_open(&n);
	for (int i = 0; i < FREES; i++) {
		side_make(&s, &n, NULL);
		dt_thread_start(&t, change_until_it_is_freed, &s);
		dt_sleep_us(100);
		OK(dat_ep_free(s.ep));
		dt_thread_join(&t);
		s.ep = DAT_HANDLE_NULL;
		side_free(&s);
	}
	node_close(&n);
}
