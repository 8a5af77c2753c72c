#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the cases notice when a rule is broken? Takes a copy of the tree, builds it, and then for each
# line of the table below changes one line of the code and expects the named case to fail.
#
#   test/mutate.sh [DIRECTORY] [PATTERN]
#
# DIRECTORY (default: a new one under /tmp, removed at the end) holds the copy and its build and may
# be used again. PATTERN chooses cases. Takes some minutes; not a part of make check.
src=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-}
pattern=${2:-*}
jobs=${JOBS:-2}
caught=0
missed=0
skipped=0
tab=$(printf '\t')

if [ -z "$dir" ]; then
	dir=$(mktemp -d /tmp/mutate-XXXXXX) || exit 2
	trap 'rm -rf "$dir"' EXIT
fi

build()
{
	make -C "$dir/build" -j"$jobs" prov_ofi/dat2/libdaplofi.la test/msgep/rdm \
		test/msgep/shm > "$dir/log" 2>&1
}

# Cases of the wire over RDM endpoints begin with "wire:", of that over shared memory with "shm:".
holds()
{
	case $1 in
	wire:*) set -- test/msgep/rdm "${1#wire:}" ;;
	shm:*) set -- test/msgep/shm "${1#shm:}" ;;
	*) set -- test/api/test-api-20 "$1" ;;
	esac
	(cd "$dir/build" && "$1" --test "$2") > "$dir/out" 2>&1
}

prepare()
{
	mkdir -p "$dir/src" "$dir/build" || return 1
	(cd "$src" && tar -cf - --exclude=.git --exclude=./build .) | (cd "$dir/src" && tar -xf -) ||
		return 1
	[ -x "$dir/src/configure" ] || (cd "$dir/src" && autoreconf -fi) > "$dir/log" 2>&1 ||
		return 1
	if [ ! -f "$dir/build/Makefile" ]; then
		(cd "$dir/build" && ../src/configure --disable-static) > "$dir/log" 2>&1 || return 1
	fi
	make -C "$dir/build" -j"$jobs" > "$dir/log" 2>&1 &&
		make -C "$dir/build" -j"$jobs" test/api/test-api-20 test/msgep/rdm \
			test/msgep/shm >> "$dir/log" 2>&1
}

mutate()
{
	file=$dir/src/prov_ofi/$2
	cp -p "$file" "$dir/kept" || exit 2
	sed "$3" "$dir/kept" > "$file"
	if cmp -s "$file" "$dir/kept"; then
		echo "STALE    $1: nothing in $2 to change"
		missed=$((missed + 1))
	elif ! build; then
		echo "BROKEN   $1: the changed $2 does not compile"
		missed=$((missed + 1))
	elif holds "$1"; then
		echo "MISSED   $1: $3"
		missed=$((missed + 1))
	else
		echo "caught   $1"
		diff "$dir/kept" "$file" | sed -n 's/^> [[:space:]]*/           /p' | head -2
		caught=$((caught + 1))
	fi
	cp -p "$dir/kept" "$file"
	touch "$file"
}

# case, file, change
table()
{
	cat << 'EOF'
dto_queues_run_empty_and_are_filled_again	data/dto_event.c	/^\t\tq->sent = 0;$/d
flags_suppressed_requests_show_no_event_on_success	data/dto_event.h	s/(status || !(dto->flags & DAT_COMPLETION_SUPPRESS_FLAG))/1/
flags_unsignalled_request_does_not_release_a_waiter	data/dto_event.h	s/return !(dto->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);/return true;/
dto_error_message_longer_than_the_receive_is_LOCAL_LENGTH_and_BROKEN	fabric/fab.c	s/return DAT_DTO_ERR_LOCAL_LENGTH;/return DAT_DTO_ERR_TRANSPORT;/
dto_error_one_byte_into_an_empty_receive_is_LOCAL_LENGTH_and_BROKEN	msgep/object/proto_rx.c	s/if (ep->expected > ep->cur.total)/if (0)/
rmr_invalidate_key_is_dead_when_the_message_has_arrived_in_2_0	data/cq_data.h	s/return data & DOFI_DATA_INVALIDATE ?/return 0 ?/
flags_fenced_send_carries_what_the_read_before_it_brought	data/dto_submit.h	s/return (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) &&/return 0 \&\&/
rules_fenced_write_carries_what_the_read_before_it_brought	data/dto_submit.h	s/return (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) &&/return 0 \&\&/
rmr_dto_fenced_bind_waits_for_the_reads_before_it	data/dto_submit.h	s/return (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) &&/return 0 \&\&/
lmr_check_send_segment_outside_its_region_is_ARG3	object/lmr_table.h	s/end <= DOFI_REGION_GET(r->length);/1;/
lmr_check_send_second_segment_outside_is_ARG3	data/dto_general.c	s/if (!covers)/if (!covers \&\& 0)/
lmr_check_recv_other_pz_is_PROTECTION_VIOLATION	data/dto_general.c	s/(pz && zone != pz)/(0)/
lmr_check_recv_missing_right_is_PRIVILEGES_VIOLATION	data/dto_general.c	s/(r->priv) & need;/(r->priv) | 1;/
rules_cookies_of_every_kind_come_back_bit_for_bit	data/dto_post.h	s/dto->cookie = cookie;/dto->cookie.as_64 = cookie.as_64 \& UINT32_MAX;/
rules_front_segments_are_filled_first	data/dto_general.c	s/i < n; i++, seg++)/i < n; i++, seg += i == 1 ? n - 1 : -1)/
rules_triplets_may_be_changed_as_soon_as_a_post_returns	data/dto_post.h	s/dto->remote_addr = dofi_rmr_addr(remote);/dto->remote_addr = 0;/
dto_error_rdma_lengths_that_do_not_fit_are_LENGTH_ERROR	data/dto_general.c	s/return dto->length > len ?/return 0 ?/
rdma_read_into_more_room_than_the_remote_length	data/dto_general.c	s/dto->length = left = len;/left = len;/
ep_state_ACTIVE_CONNECTION_PENDING_POST_SEND_is_INVALID_STATE	data/dto_general.c	s/if (ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECTED)/if (ep->state != DAT_EP_STATE_UNCONNECTED)/
flush_marker_posted_on_a_disconnected_endpoint_comes_last	data/dto_general.c	s/bool dead = ep->state == DAT_EP_STATE_DISCONNECTED;/bool dead = false;/
flags_recv_unsignalled_without_the_attribute_is_ARG5	data/dto_general.c	s/(allowed & DAT_COMPLETION_UNSIGNALLED_FLAG);/true;/
dto_receives_beyond_the_limit_are_INSUFFICIENT_RESOURCES	data/dto_general.c	s/return dofi_queue_count(q) < q->limit;/return true;/
srq_ep_posting_a_receive_is_refused	data/dto_general.c	s/return ep->srq ? DOFI_ERR/return 0 ? DOFI_ERR/
lmr_check_recv_segment_outside_its_region_is_ARG3	data/dto_post.h	s/!dofi_region_covers(r, .*))/0)/
lmr_check_rdma_write_other_pz_is_PROTECTION_VIOLATION	data/dto_post.h	s/if (\(DOFI_REGION_GET(\*(writes .*))\) != ep->pz ||/if (!\1 ||/
lmr_check_send_missing_right_is_PRIVILEGES_VIOLATION	data/dto_post.h	s/if (DOFI_REGION_GET(\*(writes .*)) != ep->pz ||/if (DOFI_REGION_GET(r->pz) != ep->pz ||/
lmr_check_rdma_read_missing_right_is_PRIVILEGES_VIOLATION	data/dto_post.h	s/kind == DOFI_RECV || kind == DOFI_READ;/kind == DOFI_RECV;/
lmr_check_send_of_one_segment_where_none_is_allowed_is_ARG2	data/dto_post.h	s/(kind != DOFI_RECV && !dofi_ep_max_iov(ep, kind)) ||/0 ||/
lmr_check_rdma_of_fewer_segments_than_other_requests	data/dto_general.c	s/o->n > dofi_ep_max_iov(ep, o->kind)/o->n > ep->attr.max_request_iov/
dto_error_requests_longer_than_the_ia_carries_are_LENGTH_ERROR	data/dto_general.c	s/return dto->length > ep->max_size ?/return 0 ?/
dto_error_requests_of_one_segment_longer_than_the_ia_carries_are_LENGTH_ERROR	data/dto_post.h	s/s->len - 1 >= ep->max_size/!s->len/
dto_requests_beyond_the_limit_are_INSUFFICIENT_RESOURCES	data/dto_post.h	s/dofi_queue_holds(q, tail) < q->quota &&/1 \&\&/
order_connect_timeouts_expire_each_at_its_time	base/timer.c	s/if (all->heap\[up\]->when <= t->when)/if (1)/
order_nothing_overtakes_a_request_that_waits	data/dto_post.h	s/q->sent == tail &&/1 \&\&/
ep_state_DISCONNECT_PENDING_POST_SEND_is_INVALID_STATE	object/ep_state.c	s/if (ep->state != DAT_EP_STATE_CONNECTED || !ep->conn ||/if (!ep->conn ||/
dto_error_rdma_lengths_that_do_not_fit_are_LENGTH_ERROR	data/dto_post.h	s/remote->segment_length != len/0/
dto_error_rdma_lengths_that_do_not_fit_are_LENGTH_ERROR	data/dto_post.h	s/remote->segment_length < len/0/
flags_suppressed_request_alone_shows_no_event_to_who_polls	data/evd_dequeue.c	s/!(dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) &&/1 \&\&/
flags_fenced_send_leaves_at_once_when_the_read_has_been_polled_for	data/evd_dequeue.c	s/if (dofi_kind_fetches(kind))/if (0)/
flags_recv_solicited_wait_is_ARG5	data/dto_post.h	s/kind == DOFI_RECV ? !flags :/kind == DOFI_RECV ? 1 :/
srq_post_recv_is_refused_when_a_shrunk_queue_is_full	data/srq_calls.c	s/= srq_full(srq) ? NULL : /= 0 ? NULL : /
srq_post_recv_is_refused_until_a_completion_is_dequeued	data/srq_calls.c	s/srq->posted - srq->dequeued >=/srq->posted - srq->taken >=/
rmr_use_rebind_gives_a_new_key_and_ends_the_old_one	object/rmr.c	/^void dofi_rmr_take_effect/,/^}/s/^\trmr_unbind(rmr);$//
rmr_use_read_one_byte_behind_the_window_is_REMOTE_ACCESS	data/rmr_bind.c	s/\.length = w->triplet.segment_length,/.length = w->triplet.segment_length + 1,/
rmr_use_write_into_a_read_only_window_is_REMOTE_ACCESS	data/rmr_bind.c	s/w->priv = remote;/w->priv = DOFI_PRIV_REMOTE;/
rmr_dto_bind_on_a_disconnected_ep_is_flushed_and_changes_nothing	object/rmr.c	/^void dofi_rmr_bind_over/,/^}/s/if (unopened)/if (0)/
rmr_use_for_ep_key_ends_with_the_connection_in_2_0	object/rmr.c	s/if (rmr->bound_ep == ep && rmr->for_ep)/if (0)/
rmr_bind_across_zones_is_PROTECTION_VIOLATION	data/rmr_bind.c	s/if (lmr->pz != rmr->pz || ep->pz != rmr->pz)/if (0)/
rmr_invalidate_key_of_a_window_that_serves_another_endpoint_stays_in_2_0	object/rmr.c	s/return rmr->bound == w && .*/return rmr->bound == w || ep;/
rmr_lmr_free_is_refused_while_one_is_bound	object/mr.c	s/if (lmr->users)/if (0)/
wire:bulk_breach_without_leave	msgep/rdm/rdm_large.c	s/if (!rdm_large_outstanding(l))$/if (0)/
wire:bulk_breach_back_what_was_sent	msgep/rdm/rdm_large.c	s/if (large_later((uint16_t)(back + l->received), l->peer_granted))/if (0)/
wire:bulk_breach_wishes_too_many	msgep/rdm/rdm_large.c	s/(1 + MSGEP_CHANNELS) \* conn->net->window)/30000)/
wire:bulk_stalled_rxm	msgep/rdm/rdm_large.c	s/rdm_large_outstanding(l) + (uint32_t)l->held < share/rdm_large_outstanding(l) < share/
wire:bulk_recalled_rxm	msgep/rdm/rdm_large.c	s/^\t\t\t\tlarge_revoke(net);$/\t\t\t\t(void)large_revoke;/
wire:bulk_settled_rxm	msgep/rdm/rdm_large.c	s/b->promised -= rdm_large_outstanding(l);/;/
wire:bulk_closed_early_shuffled	msgep/rdm/rdm_large.c	s/b->promised -= b->expiring\[1\];/;/
shm:shm_sleep_a_message_taken_at_once_wakes_the_sleeper	msgep/fid/fid_cq.c	s/^\tmsgep_cq_wake(cq);$/\t;/
wire:bulk_overtaken_shuffled	msgep/rdm/rdm_gap.c	s/rdm_large_missing(conn) ? RDM_LARGE_GAP_MS :/0 ? RDM_LARGE_GAP_MS :/
EOF
}

if ! prepare; then
	cat "$dir/log"
	exit 2
fi
(cd "$dir/build" && test/api/test-api-20 --list) | awk '{ print $2 }' > "$dir/names"
(cd "$dir/build" && test/msgep/rdm --list) | awk '{ print "wire:" $2 }' >> "$dir/names"
(cd "$dir/build" && test/msgep/shm --list) | awk '{ print "shm:" $2 }' >> "$dir/names"
table > "$dir/table"
while IFS=$tab read -r name file change; do
	# shellcheck disable=SC2254
	case $name in
	$pattern) ;;
	*) continue ;;
	esac
	if ! grep -qx "$name" "$dir/names"; then
		echo "skipped  $name: no such case"
		skipped=$((skipped + 1))
	elif ! build || ! holds "$name"; then
		echo "FAILS    $name: without any change"
		missed=$((missed + 1))
	else
		mutate "$name" "$file" "$change" < /dev/null
	fi
done < "$dir/table"
echo "$caught caught, $missed missed, $skipped skipped"
[ $missed -eq 0 ] && [ $caught -gt 0 ]
