/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the messages of datagram endpoints: contents, limits, losses, strangers, bad arguments. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "srq_rig.h"
#include "ud.h"

TEST(ud_data, messages_of_many_sizes_behind_their_header)
{
	static const size_t sizes[] = { 0, 1, 8, 64, 100, 1471, 1473, 2048, UD_MAX - 1, UD_MAX };
	DAT_IB_ADDR_HANDLE from;
	struct ud u;

	ud_up(&u);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(u.p.b.buf.mem, 0x55, GRH + UD_MAX + 1);
		fill(u.p.a.buf.mem, sizes[i], 7);
		OK(post_recv(&u.p.b, 0, GRH + sizes[i], 1));
		OK(ud_send(&u.p.a, &u.b_of_a.to, 0, sizes[i], 2));
		UD_SENT(&u.p.a, 2, sizes[i]);
		from = UD_RECEIVED(&u.p.b, 1, sizes[i]);
		CHECK_FILL(u.p.b.buf.mem + GRH, sizes[i], 7);
		ASSERT_EQ(u.p.b.buf.mem[GRH + sizes[i]], 0x55);
		ASSERT_EQ(from.qpn, u.a_of_b.to.qpn);
		ASSERT_MEM(&from.ia_addr, &u.a_of_b.to.ia_addr, sizeof(struct sockaddr_in));
		/* A received address is enough for the answer. */
		OK(post_recv(&u.p.a, 8192, GRH + 64, 3));
		OK(ud_send(&u.p.b, &from, GRH, sizes[i] < 64 ? sizes[i] : 64, 4));
		UD_SENT(&u.p.b, 4, sizes[i] < 64 ? sizes[i] : 64);
		UD_RECEIVED(&u.p.a, 3, sizes[i] < 64 ? sizes[i] : 64);
	}
	ud_close(&u);
}

TEST(ud_data, header_has_the_form_of_a_GRH)
{
	const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct sockaddr_in *ip;
	const unsigned char *h;
	struct ud u;

	ud_up(&u);
	ip = (const void *)u.p.node.attr.ia_address_ptr;
	OK(post_recv(&u.p.b, 0, GRH + 300, 1));
	OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 258, 2));
	UD_RECEIVED(&u.p.b, 1, 258);
	h = (const unsigned char *)u.p.b.buf.mem;
	ASSERT_EQ(h[0], 0x60);
	ASSERT_EQ(h[4] << 8 | h[5], 258);
	ASSERT_EQ(h[6], 0x1b);
	ASSERT_MEM(h + 8, mapped, 12);
	ASSERT_MEM(h + 20, &ip->sin_addr, 4);
	ASSERT_MEM(h + 24, mapped, 12);
	ASSERT_MEM(h + 36, &ip->sin_addr, 4);
	ud_close(&u);
}

TEST(ud_data, segments_are_gathered_and_scattered)
{
	static const size_t cut[] = { 0, 13, 40, 55, 340 };
	DAT_LMR_TRIPLET from[4], to[4];
	struct ud u;

	ud_up(&u);
	fill(u.p.a.buf.mem, 300, 9);
	for (size_t i = 0; i < 4; i++) {
		from[i] = seg(&u.p.a.buf, i * 75, 75);
		to[i] = seg(&u.p.b.buf, 1000 * i + cut[i], cut[i + 1] - cut[i]);
	}
	OK(dat_ib_post_recv_ud(u.p.b.ep, 4, to, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ib_post_send_ud(u.p.a.ep, 4, from, &u.b_of_a.to, ck(2), 0));
	UD_SENT(&u.p.a, 2, 300);
	UD_RECEIVED(&u.p.b, 1, 300);
	memmove(u.p.b.buf.mem + 40, u.p.b.buf.mem + 2040, 15);
	memmove(u.p.b.buf.mem + 55, u.p.b.buf.mem + 3055, 285);
	CHECK_FILL(u.p.b.buf.mem + 40, 300, 9);
	ud_close(&u);
}

/* There is no connection that the hard one could break. */
TEST(ud_data, watermarks_report_and_break_nothing)
{
	struct ud u;

	ud_up(&u);
	for (uint64_t i = 0; i < 4; i++)
		OK(post_recv(&u.p.b, i * 128, GRH + 8, 10 + i));
	OK(dat_ep_set_watermark(u.p.b.ep, 1, 2));
	for (uint64_t i = 0; i < 4; i++) {
		OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 8, 2));
		UD_SENT(&u.p.a, 2, 8);
		if (i == 0)
			EV_NONE(u.p.node.async);
	}
	EV_ASYNC(&u.p.node, u.p.b.ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	EV_NONE(u.p.node.async);
	for (uint64_t i = 0; i < 4; i++)
		UD_RECEIVED(&u.p.b, 10 + i, 8);
	OK(post_recv(&u.p.b, 0, GRH + 8, 20));
	OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 8, 2));
	UD_SENT(&u.p.a, 2, 8);
	UD_RECEIVED(&u.p.b, 20, 8);
	EV_EMPTY(u.p.b.conn);
	ud_close(&u);
}

TEST(ud_data, suppressed_sends_report_nothing)
{
	DAT_LMR_TRIPLET t;
	struct ud u;

	ud_up(&u);
	t = seg(&u.p.a.buf, 0, 10);
	for (unsigned int i = 0; i < 40; i++) {
		OK(post_recv(&u.p.b, 0, 100, i));
		OK(dat_ib_post_send_ud(u.p.a.ep, 1, &t, &u.b_of_a.to, ck(1),
				       DAT_COMPLETION_SUPPRESS_FLAG));
		UD_RECEIVED(&u.p.b, i, 10);
	}
	EV_EMPTY(u.p.a.req);
	ud_close(&u);
}

/* ---- limits and losses ---- */

TEST(ud_data, too_long_a_message_is_LENGTH_ERROR)
{
	struct ud u;

	ud_up(&u);
	OK(post_recv(&u.p.b, 0, 2 * UD_MAX, 1));
	ASSERT_RET(ud_send(&u.p.a, &u.b_of_a.to, 0, UD_MAX + 1, 2), DAT_LENGTH_ERROR,
		   DAT_NO_SUBTYPE);
	EV_EMPTY(u.p.a.req);
	EV_NONE(u.p.b.recv);
	OK(ud_send(&u.p.a, &u.b_of_a.to, 0, UD_MAX, 3));
	UD_SENT(&u.p.a, 3, UD_MAX);
	UD_RECEIVED(&u.p.b, 1, UD_MAX);
	ud_close(&u);
}

TEST(ud_data, a_message_beyond_its_receive_fails_only_that)
{
	struct ud u;

	ud_up(&u);
	memset(u.p.b.buf.mem, 0x55, 200);
	OK(post_recv(&u.p.b, 0, GRH + 9, 1));
	OK(post_recv(&u.p.b, 0, GRH - 1, 2));
	OK(post_recv(&u.p.b, 1000, GRH + 10, 3));
	for (unsigned int i = 0; i < 3; i++) {
		OK(ud_send(&u.p.a, &u.b_of_a.to, 0, i == 1 ? 0 : 10, 10 + i));
		UD_SENT(&u.p.a, 10 + i, i == 1 ? 0 : 10);
	}
	EV_EXT_STATUS(u.p.b.recv, u.p.b.ep, 1, RECV_UD, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_EXT_STATUS(u.p.b.recv, u.p.b.ep, 2, RECV_UD, DAT_DTO_ERR_LOCAL_LENGTH);
	UD_RECEIVED(&u.p.b, 3, 10);
	for (int i = 0; i < 200; i++)
		ASSERT_EQ(u.p.b.buf.mem[i], 0x55);
	ASSERT_EQ(side_state(&u.p.b), DAT_EP_STATE_UNCONNECTED);
	ud_close(&u);
}

/* More messages than the buffer of a socket has room for. */
static unsigned int ud_many(void)
{
	FILE *f = fopen("/proc/sys/net/core/rmem_default", "re");
	unsigned int bytes = 0;

	if (!f || fscanf(f, "%u", &bytes) != 1)
		dt_skip("the size of a socket's buffer is not known");
	fclose(f);
	return bytes / UD_MAX + 64;
}

TEST(ud_data, messages_without_a_receive_are_dropped)
{
	unsigned int received = 1, many = ud_many();
	DAT_LMR_TRIPLET t;
	DAT_EVENT ev;
	struct ud u;

	ud_up(&u);
	fill(u.p.a.buf.mem, UD_MAX, 3);
	t = seg(&u.p.a.buf, 0, UD_MAX);
	for (unsigned int i = 0; i < many; i++)
		OK(dat_ib_post_send_ud(u.p.a.ep, 1, &t, &u.b_of_a.to, ck(1),
				       DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post_recv(&u.p.b, 0, GRH + UD_MAX, 0));
	UD_RECEIVED(&u.p.b, 0, UD_MAX);
	/* The rest of what waits in the socket comes at once; nothing of it comes later. */
	for (;;) {
		OK(post_recv(&u.p.b, 0, GRH + UD_MAX, received));
		if (dat_evd_dequeue(u.p.b.recv, &ev) != DAT_SUCCESS)
			break;
		received++;
		CHECK_FILL(u.p.b.buf.mem + GRH, UD_MAX, 3);
	}
	ASSERT(received < many);
	/* The receive that found nothing gets the next message. */
	OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 5, 2));
	UD_SENT(&u.p.a, 2, 5);
	UD_RECEIVED(&u.p.b, received, 5);
	ud_close(&u);
}

TEST(ud_data, a_message_waits_a_moment_for_its_receive)
{
	struct ud u;

	ud_up(&u);
	for (unsigned int i = 0; i < 10; i++) {
		OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 10 + i, i));
		UD_SENT(&u.p.a, i, 10 + i);
	}
	EV_NONE(u.p.b.recv);
	for (unsigned int i = 0; i < 10; i++)
		OK(post_recv(&u.p.b, 0, 100, 20 + i));
	for (unsigned int i = 0; i < 10; i++)
		UD_RECEIVED(&u.p.b, 20 + i, 10 + i);
	ud_close(&u);
}

/* No endpoint has the number: the message is lost, and the sender does not learn that. */
TEST(ud_data, to_a_freed_endpoint_is_lost)
{
	struct ud u;

	ud_up(&u);
	OK(dat_ep_free(u.p.b.ep));
	u.p.b.ep = NULL;
	for (unsigned int i = 0; i < 5; i++) {
		OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 10, i));
		UD_SENT(&u.p.a, i, 10);
	}
	ud_close(&u);
}

TEST(ud_data, disconnect_flushes_and_the_endpoint_goes_on)
{
	struct ud u;

	ud_up(&u);
	for (unsigned int i = 0; i < 5; i++)
		OK(post_recv(&u.p.b, 0, 100, i));
	OK(dat_ep_disconnect(u.p.b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (unsigned int i = 0; i < 5; i++)
		EV_EXT_STATUS(u.p.b.recv, u.p.b.ep, i, RECV_UD, DAT_DTO_ERR_FLUSHED);
	EV_EMPTY(u.p.b.recv);
	EV_EMPTY(u.p.b.conn);
	OK(dat_ep_reset(u.p.b.ep));
	OK(post_recv(&u.p.b, 0, 100, 9));
	OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 20, 1));
	UD_SENT(&u.p.a, 1, 20);
	UD_RECEIVED(&u.p.b, 9, 20);
	ud_close(&u);
}

TEST(ud_data, free_takes_posted_receives_back)
{
	struct ud u;

	ud_up(&u);
	for (unsigned int i = 0; i < 16; i++)
		OK(post_recv(&u.p.b, 0, 100, i));
	ASSERT_RET(post_recv(&u.p.b, 0, 100, 16), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	OK(dat_ep_free(u.p.b.ep));
	u.p.b.ep = NULL;
	EV_NONE(u.p.b.recv);
	ud_close(&u);
}

/* A received message counts with its header. */
TEST(ud_data, messages_and_calls_are_counted)
{
	DAT_UINT64 a[DCNT_EP_ALL_COUNTERS], b[DCNT_EP_ALL_COUNTERS];
	struct ud u;

	ud_up(&u);
	OK(post_recv(&u.p.b, 0, 200, 1));
	for (unsigned int i = 0; i < 3; i++) {
		OK(ud_send(&u.p.a, &u.b_of_a.to, 0, 10 + i, i));
		UD_SENT(&u.p.a, i, 10 + i);
	}
	UD_RECEIVED(&u.p.b, 1, 10);
	OK(dat_ib_query_counters(u.p.a.ep, DCNT_EP_ALL_COUNTERS, a, 0));
	OK(dat_ib_query_counters(u.p.b.ep, DCNT_EP_ALL_COUNTERS, b, 0));
	ASSERT_EQ(a[DCNT_EP_CONNECT], 1);
	ASSERT_EQ(b[DCNT_EP_CONNECT], 0);
	ASSERT_EQ(a[DCNT_EP_POST_SEND_UD], 3);
	ASSERT_EQ(a[DCNT_EP_POST_SEND_UD_DATA], 33);
	ASSERT_EQ(a[DCNT_EP_POST_SEND], 0);
	ASSERT_EQ(b[DCNT_EP_RECV_UD], 1);
	ASSERT_EQ(b[DCNT_EP_RECV_UD_DATA], GRH + 10);
	ASSERT_EQ(b[DCNT_EP_RECV], 0);
	ud_close(&u);
}

/* ---- strangers ---- */

static void stranger_sends(int fd, const struct sockaddr_in *to, const unsigned char *what,
			   size_t len)
{
	ASSERT_EQ(sendto(fd, what, len, 0, (const struct sockaddr *)to, sizeof(*to)), (ssize_t)len);
}

TEST(ud_data, invalid_datagrams_are_dropped)
{
	unsigned char good[20] = { 'D', 'O', 'F', 'U', 1, 0, 0, 4 }, bad[20];
	static const int changed[] = { 0, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15 };
	struct sockaddr_in to, me = { .sin_family = AF_INET };
	socklen_t len = sizeof(me);
	DAT_IB_ADDR_HANDLE from;
	struct ud u;
	int fd;

	ud_up(&u);
	memcpy(&to, u.p.node.attr.ia_address_ptr, sizeof(to));
	to.sin_port = htons((uint16_t)u.b_of_a.to.qpn);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	me.sin_addr = to.sin_addr;
	ASSERT(fd >= 0 && !bind(fd, (struct sockaddr *)&me, sizeof(me)));
	ASSERT(!getsockname(fd, (struct sockaddr *)&me, &len));
	for (int i = 0; i < 4; i++)
		good[8 + i] = (unsigned char)(u.b_of_a.to.qpn >> (24 - 8 * i));
	memcpy(good + 14, &me.sin_port, 2);
	OK(post_recv(&u.p.b, 0, 100, 1));
	for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
		memcpy(bad, good, sizeof(bad));
		bad[changed[i]] ^= 0x40;
		stranger_sends(fd, &to, bad, sizeof(bad));
	}
	for (size_t n = 0; n < sizeof(good); n++)
		stranger_sends(fd, &to, good, n);
	EV_NONE(u.p.b.recv);
	/* This one is valid, which shows that the others were not for another reason. */
	stranger_sends(fd, &to, good, sizeof(good));
	from = UD_RECEIVED(&u.p.b, 1, 4);
	ASSERT_EQ(from.qpn, ntohs(me.sin_port));
	close(fd);
	ud_close(&u);
}

TEST(ud_data, a_datagram_of_maximum_size_with_more_behind_it_is_dropped)
{
	static unsigned char huge[20000] = { 'D', 'O', 'F', 'U', 1, 0, 0x10 };
	struct sockaddr_in to, me = { .sin_family = AF_INET };
	socklen_t len = sizeof(me);
	struct ud u;
	int fd;

	ud_up(&u);
	memcpy(&to, u.p.node.attr.ia_address_ptr, sizeof(to));
	to.sin_port = htons((uint16_t)u.b_of_a.to.qpn);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	me.sin_addr = to.sin_addr;
	ASSERT(fd >= 0 && !bind(fd, (struct sockaddr *)&me, sizeof(me)));
	ASSERT(!getsockname(fd, (struct sockaddr *)&me, &len));
	for (int i = 0; i < 4; i++)
		huge[8 + i] = (unsigned char)(u.b_of_a.to.qpn >> (24 - 8 * i));
	memcpy(huge + 14, &me.sin_port, 2);
	OK(post_recv(&u.p.b, 0, GRH + UD_MAX, 1));
	stranger_sends(fd, &to, huge, sizeof(huge));
	EV_NONE(u.p.b.recv);
	stranger_sends(fd, &to, huge, 16 + UD_MAX);
	UD_RECEIVED(&u.p.b, 1, UD_MAX);
	close(fd);
	ud_close(&u);
}

/* ---- bad arguments ---- */

TEST(ud_data, send_checks_its_arguments)
{
	DAT_IB_ADDR_HANDLE to;
	DAT_LMR_TRIPLET t;
	DAT_EP_HANDLE rc, ep;
	struct ud u;

	ud_up(&u);
	ep = u.p.a.ep;
	t = seg(&u.p.a.buf, 0, 10);
	OK(dat_ep_create(u.p.node.ia, u.p.node.pz, u.p.a.recv, u.p.a.req, u.p.a.conn, NULL, &rc));
	BAD_HANDLE(dat_ib_post_send_ud(rc, 1, &t, &u.b_of_a.to, ck(1), 0), EP);
	BAD_HANDLE(dat_ib_ud_ah_free(rc, &u.b_of_a.to), EP);
	BAD_HANDLE(dat_ib_ud_cm_free(rc, u.b_of_a.cm), EP);
	OK(dat_ep_free(rc));
	BAD_HANDLE(dat_ib_post_send_ud(rc, 1, &t, &u.b_of_a.to, ck(1), 0), EP);
	BAD_ARG(dat_ib_post_send_ud(ep, -1, &t, &u.b_of_a.to, ck(1), 0), 2);
	BAD_ARG(dat_ib_post_send_ud(ep, 5, &t, &u.b_of_a.to, ck(1), 0), 2);
	BAD_ARG(dat_ib_post_send_ud(ep, 1, NULL, &u.b_of_a.to, ck(1), 0), 3);
	BAD_ARG(dat_ib_post_send_ud(ep, 1, &t, NULL, ck(1), 0), 4);
	BAD_ARG(dat_ib_post_send_ud(ep, 1, &t, &u.b_of_a.to, ck(1), 0x1000), 6);
	t.lmr_context ^= 0x10000;
	ASSERT_RET(dat_ib_post_send_ud(ep, 1, &t, &u.b_of_a.to, ck(1), 0), DAT_PRIVILEGES_VIOLATION,
		   DAT_PRIVILEGES_READ);
	t = seg(&u.p.a.buf, 0, SIDE_BUF + 1);
	BAD_ARG(dat_ib_post_send_ud(ep, 1, &t, &u.b_of_a.to, ck(1), 0), 3);
	for (int i = 0; i < 4; i++) {
		to = u.b_of_a.to;
		if (i == 0)
			to.qpn = 0;
		else if (i == 1)
			to.qpn |= 0x1000000;
		else if (i == 2)
			to.ah = (struct ibv_ah *)(void *)&u;
		else
			memset(&to, 0, offsetof(DAT_IB_ADDR_HANDLE, qpn)),
				memset(&to.ia_addr, 0, sizeof(to.ia_addr));
		BAD_ARG(ud_send(&u.p.a, &to, 0, 10, 1), 4);
	}
	OK(dat_ib_ud_ah_free(ep, &u.b_of_a.to));
	BAD_ARG(ud_send(&u.p.a, &u.b_of_a.to, 0, 10, 1), 4);
	EV_NONE(u.p.a.req);
	ud_close(&u);
}

TEST(ud_data, other_requests_need_a_connection)
{
	struct ud u;

	ud_up(&u);
	BAD_STATE(post_send(&u.p.a, 0, 10, 1), EP_UNCONNECTED);
	BAD_STATE(post_write(&u.p.a, 0, 10, 1, &u.p.b, 0), EP_UNCONNECTED);
	BAD_STATE(post_read(&u.p.a, 0, 10, 1, &u.p.b, 0), EP_UNCONNECTED);
	EV_NONE(u.p.a.req);
	ud_close(&u);
}
