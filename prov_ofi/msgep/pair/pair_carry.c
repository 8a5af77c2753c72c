/* SPDX-License-Identifier: BSD-2-Clause */
/* Announcements of long data that follow other long data in its message on the bulk endpoint. (hot)
 *
 * A small packet on the pair costs its sender a system call, which takes a fourth of the time of
 * that for 64 KiB. While transfers are in progress, announcements are collected here, and the next
 * transfer for which GO arrives carries them. They wait for nothing else: the peer cannot process
 * them before those transfers' announcements anyway.
 *
 * Both paths are not ordered with each other. So announcements are carried only if all requests
 * sent before have been consumed; and until they have been consumed themselves, no other requests
 * of the connection are sent. The peer thus has one group to process at a time, too. Carried
 * packets have no counts, which need the order of the pair.
 *
 * Callers hold ep->lock. */
#include <string.h>

#include "msgep/pair/pair_message.h"

/* The bulk endpoint's announcements; NULL: none are collected. */
static struct pair_carry *carry_of(const struct pair_conn *conn)
{
	return conn->bulk && conn->bulk->carry.len ? &conn->bulk->carry : NULL;
}

/* Packets of requests may be sent on the pair: those collected before are. */
bool pair_carry_passed(struct pair_conn *conn)
{
	struct pair_carry *carry = carry_of(conn);

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (!pair_path_is_consumed(conn, &conn->by_bulk))
		return false;
	if (!carry)
		return true;
	if (!pair_put_packets(conn, carry->data, carry->len))
		return false;
	carry->len = carry->packets = 0;
	conn->by_pair = (struct pair_path){ true, conn->sent[MSGEP_REQ] };
	return true;
}

void pair_carry_commit(struct pair_conn *conn, uint32_t size)
{
	conn->reserved_carry = false;
	conn->bulk->carry.len += size;
	conn->bulk->carry.packets++;
}

bool pair_carry_take(struct pair_conn *conn, struct pair_transfer *t, struct iovec *iov)
{
	struct pair_carry *carry = carry_of(conn);

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (!carry || !pair_path_is_consumed(conn, &conn->by_pair))
		return false;
	memcpy(t->carried, carry->data, carry->len);
	*iov = (struct iovec){ t->carried, carry->len };
	carry->len = carry->packets = 0;
	conn->by_bulk = (struct pair_path){ true, conn->sent[MSGEP_REQ] };
	return true;
}

void pair_carry_check(struct pair_conn *conn)
{
	struct pair_carry *carry = carry_of(conn);

	if (carry && conn->n_out == carry->packets)
		pair_carry_passed(conn);
}

/* A hostile peer may have counted what was never sent. A count beyond `sent` would let it count
 * anything. */
static void carry_uncount(_Atomic uint32_t *known, uint32_t sent)
{
	if ((int32_t)(sent - atomic_load(known)) < 0)
		atomic_store(known, sent);
}

void pair_carry_drop(struct pair_conn *conn)
{
	struct pair_carry *carry = carry_of(conn);

	if (!carry)
		return;
	conn->sent[MSGEP_REQ] -= carry->len;
	conn->packets -= carry->packets;
	carry_uncount(&conn->granted[MSGEP_REQ], conn->sent[MSGEP_REQ]);
	carry_uncount(&conn->arrived, conn->packets);
	carry->len = carry->packets = 0;
}
