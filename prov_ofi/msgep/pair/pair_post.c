/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts the buffers in which messages of all pairs arrive. */
#include <string.h>

#include "base/error_text.h"
#include "base/log.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_message.h"

static int pair_post(struct pair_net *net, struct pair_buf *buf)
{
	/* A receive that fails must not be attributed to the pair of an earlier message: no key is
	 * 0. */
	memset(buf->data, 0, sizeof(struct pair_head));
	return (int)fi_recv(net->srx, buf->data, PAIR_MESSAGE, NULL, FI_ADDR_UNSPEC, buf);
}

int pair_post_new(struct pair_net *net)
{
	struct pair_buf *buf = pair_buf_alloc(net, PAIR_OP_RECV);

	return buf ? pair_post(net, buf) : -FI_ENOMEM;
}

void pair_repost(struct pair_net *net, struct pair_buf *buf)
{
	int ret = net->closing ? 0 : pair_post(net, buf);

	if (!ret)
		return;
	dofi_log(DOFI_LOG_INFO, "a receive buffer could not be posted again: %s",
		 dofi_error_text(-ret));
	buf->next = net->unposted;
	net->unposted = buf;
	msgep_inbox_retry(net->domain);
}

void pair_post_again(struct pair_net *net)
{
	struct pair_buf *buf;

	DOFI_ASSERT_LOCKED(&net->lock);
	while ((buf = net->unposted) && !net->closing && !pair_post(net, buf))
		net->unposted = buf->next;
	if (net->unposted)
		msgep_inbox_retry(net->domain);
}
