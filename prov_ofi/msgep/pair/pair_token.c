/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens, which authorise libfabric connections by peers. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "msgep/pair/pair_int.h"

int pair_grant(struct pair_net *net, const uint8_t *name, uint8_t dscp, uint8_t *token,
	       struct pair_conn *conn)
{
	struct pair_token *t = calloc(1, sizeof(*t));

	DOFI_ASSERT_LOCKED(&net->lock);
	if (!t)
		return -FI_ENOMEM;
	if (getrandom(t->token, PAIR_NAME, 0) != PAIR_NAME) {
		free(t);
		return -FI_EIO;
	}
	memcpy(t->name, name, PAIR_NAME);
	t->dscp = dscp;
	t->conn = conn;
	net->n_granted += !!conn;
	t->expires = dofi_now() + DOFI_MS(PAIR_TOKEN_MS);
	memcpy(token, t->token, PAIR_NAME);
	dofi_list_append(&net->tokens, &t->link);
	return 0;
}

static void pair_token_free(struct pair_net *net, struct pair_token *t)
{
	if (t->conn) {
		net->n_granted--;
		t->conn->sent_token = false;
	}
	dofi_list_remove(&t->link);
	free(t);
}

void pair_expire(struct pair_net *net)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each_safe(pos, tmp, &net->tokens)
	{
		struct pair_token *t = dofi_container(pos, struct pair_token, link);

		if (now >= t->expires)
			pair_token_free(net, t);
	}
}

bool pair_use_token(struct pair_net *net, const uint8_t *name, const uint8_t *token,
		    struct pair_conn **conn, uint8_t *dscp)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos, *tmp;
	bool good = false;

	dofi_list_each_safe(pos, tmp, &net->tokens)
	{
		struct pair_token *t = dofi_container(pos, struct pair_token, link);
		bool same = !memcmp(t->token, token, PAIR_NAME) &&
			    !memcmp(t->name, name, PAIR_NAME);

		good |= same;
		if (same) {
			*conn = t->conn;
			*dscp = t->dscp;
		}
		if (same || now >= t->expires)
			pair_token_free(net, t);
	}
	return good;
}

void pair_revoke(struct pair_net *net, const struct pair_conn *conn, const struct pair *pair)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each_safe(pos, tmp, &net->tokens)
	{
		struct pair_token *t = dofi_container(pos, struct pair_token, link);

		if (t->conn == conn && (!pair || pair_matches(pair, t->name, t->dscp)))
			pair_token_free(net, t);
	}
}

void pair_tokens_free(struct pair_net *net)
{
	while (!dofi_list_empty(&net->tokens)) {
		struct pair_token *t = dofi_container(net->tokens.next, struct pair_token, link);

		t->conn = NULL;
		pair_token_free(net, t);
	}
}
