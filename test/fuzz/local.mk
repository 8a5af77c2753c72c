# Fuzz tests with malformed input. `make fuzz FUZZ_TIME=600` for a long run; make check-all has a short
# one.
check_PROGRAMS += test/fuzz/driver-packets test/fuzz/driver-cm_msg test/fuzz/driver-frames \
	test/fuzz/driver-pairs test/fuzz/driver-ready
long_tests += test/fuzz/fuzz.sh
EXTRA_DIST += test/fuzz/fuzz.sh \
	test/fuzz/corpus/packets/arrival-query \
	test/fuzz/corpus/packets/bulk \
	test/fuzz/corpus/packets/bye \
	test/fuzz/corpus/packets/many \
	test/fuzz/corpus/packets/close \
	test/fuzz/corpus/packets/fails \
	test/fuzz/corpus/packets/return-credits \
	test/fuzz/corpus/packets/parameters \
	test/fuzz/corpus/packets/out-of-order \
	test/fuzz/corpus/packets/revoke \
	test/fuzz/corpus/packets/send-long \
	test/fuzz/corpus/cm_msg/accept \
	test/fuzz/corpus/cm_msg/doorbells-bye \
	test/fuzz/corpus/cm_msg/hello-challenge \
	test/fuzz/corpus/cm_msg/http \
	test/fuzz/corpus/cm_msg/long-request \
	test/fuzz/corpus/cm_msg/reject \
	test/fuzz/corpus/cm_msg/request-v4 \
	test/fuzz/corpus/cm_msg/request-v6-accept \
	test/fuzz/corpus/cm_msg/sealed-request \
	test/fuzz/corpus/cm_msg/version-2 \
	test/fuzz/corpus/frames/message \
	test/fuzz/corpus/frames/message-in-two \
	test/fuzz/corpus/frames/message-pulled \
	test/fuzz/corpus/frames/message-too-long \
	test/fuzz/corpus/frames/message-too-long-and-violation \
	test/fuzz/corpus/frames/message-waits \
	test/fuzz/corpus/frames/ours-read \
	test/fuzz/corpus/frames/ours-read-granted \
	test/fuzz/corpus/frames/ours-read-revoked \
	test/fuzz/corpus/frames/ours-refused \
	test/fuzz/corpus/frames/ours-sent \
	test/fuzz/corpus/frames/ours-written \
	test/fuzz/corpus/frames/read \
	test/fuzz/corpus/frames/read-granted-and-closed \
	test/fuzz/corpus/frames/write \
	test/fuzz/corpus/frames/write-pulled \
	test/fuzz/corpus/frames/write-refused \
	test/fuzz/corpus/pairs/add \
	test/fuzz/corpus/pairs/attach \
	test/fuzz/corpus/pairs/attach-of-others \
	test/fuzz/corpus/pairs/attach-twice \
	test/fuzz/corpus/pairs/bulk-active \
	test/fuzz/corpus/pairs/bulk-message \
	test/fuzz/corpus/pairs/bulk-message-cut-off \
	test/fuzz/corpus/pairs/bulk-message-refused \
	test/fuzz/corpus/pairs/bulk-message-shared \
	test/fuzz/corpus/pairs/bulk-of-another-length \
	test/fuzz/corpus/pairs/bulk-ours-read \
	test/fuzz/corpus/pairs/bulk-ours-sent \
	test/fuzz/corpus/pairs/bulk-write \
	test/fuzz/corpus/pairs/bulk-write-region-closed \
	test/fuzz/corpus/pairs/bye \
	test/fuzz/corpus/pairs/bytes \
	test/fuzz/corpus/pairs/closed-while-messages-are-sent \
	test/fuzz/corpus/pairs/counts-of-dropped-announcements \
	test/fuzz/corpus/pairs/counts-of-what-was-not-sent \
	test/fuzz/corpus/pairs/credit-of-what-was-not-sent \
	test/fuzz/corpus/pairs/cut-short \
	test/fuzz/corpus/pairs/go-for-nothing \
	test/fuzz/corpus/pairs/gone-for-others \
	test/fuzz/corpus/pairs/handshake-too-long \
	test/fuzz/corpus/pairs/message \
	test/fuzz/corpus/pairs/message-in-two \
	test/fuzz/corpus/pairs/message-shared \
	test/fuzz/corpus/pairs/message-waits \
	test/fuzz/corpus/pairs/messages \
	test/fuzz/corpus/pairs/ours-read \
	test/fuzz/corpus/pairs/ours-sent \
	test/fuzz/corpus/pairs/ours-written \
	test/fuzz/corpus/pairs/read \
	test/fuzz/corpus/pairs/read-of-closed-region \
	test/fuzz/corpus/pairs/request \
	test/fuzz/corpus/pairs/want-bulk-again \
	test/fuzz/corpus/pairs/write \
	test/fuzz/corpus/ready/announced \
	test/fuzz/corpus/ready/come-and-go \
	test/fuzz/corpus/ready/false-numbers \
	test/fuzz/corpus/ready/overtaken \
	test/fuzz/corpus/ready/waits \
	test/fuzz/corpus/ready/wraps

# The driver of a target links the provider; fuzz.sh compiles what is under test, *_code, again.
test_fuzz_driver_cm_msg_SOURCES = \
	test/fuzz/cm_msg.c test/fuzz/driver.c test/fuzz/fuzz.h
fuzz_cm_msg_code = \
	prov_ofi/msgep/cm/cm_msg.c
test_fuzz_driver_cm_msg_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi \
	$(LIBFABRIC_CFLAGS)
test_fuzz_driver_cm_msg_LDADD = prov_ofi/libdaplofi-common.la

test_fuzz_driver_packets_SOURCES = \
	test/fuzz/packets.c test/fuzz/driver.c test/fuzz/fabric.c test/fuzz/fabric.h \
	test/fuzz/fake.c test/fuzz/fake.h test/fuzz/fuzz.h
fuzz_packets_code = \
	prov_ofi/base/port_range.c prov_ofi/base/addr.c prov_ofi/base/error_text.c \
	prov_ofi/base/debug.c prov_ofi/base/forkfd.c prov_ofi/base/lock.c \
	prov_ofi/fabric/fab_info.c \
	prov_ofi/msgep/inner.c prov_ofi/msgep/rdm/rdm_ops.c \
	prov_ofi/msgep/rdm/rdm_recv.c prov_ofi/msgep/rdm/rdm_large.c \
	prov_ofi/msgep/rdm/rdm_packets.c prov_ofi/msgep/rdm/rdm_open.c \
	prov_ofi/msgep/object/cq_touch.c \
	prov_ofi/msgep/rdm/rdm_peers.c prov_ofi/msgep/rdm/rdm_probe.c \
	prov_ofi/msgep/rdm/rdm_end.c prov_ofi/msgep/rdm/rdm_timer.c \
	prov_ofi/msgep/rdm/rdm_gap.c prov_ofi/msgep/rdm/rdm_owed.c \
	prov_ofi/msgep/rdm/rdm_send.c prov_ofi/msgep/rdm/rdm_life.c \
	prov_ofi/msgep/rdm/rdm_constrained.c prov_ofi/msgep/tcp_socks.c
test_fuzz_driver_packets_CPPFLAGS = $(test_fuzz_driver_cm_msg_CPPFLAGS)
test_fuzz_driver_packets_LDFLAGS = -Wl,--wrap=clock_gettime
test_fuzz_driver_packets_LDADD = prov_ofi/libdaplofi-common.la -lpthread

test_fuzz_driver_frames_SOURCES = \
	test/fuzz/frames.c test/fuzz/driver.c test/fuzz/fuzz.h
fuzz_frames_code = \
	prov_ofi/base/addr.c prov_ofi/base/error_text.c prov_ofi/base/debug.c \
	prov_ofi/base/key_map.c prov_ofi/base/lock.c \
	prov_ofi/msgep/object/mr.c prov_ofi/msgep/object/post.c \
	prov_ofi/msgep/object/ep_end.c prov_ofi/msgep/object/proto_frame.c \
	prov_ofi/msgep/object/proto_tx.c prov_ofi/msgep/object/proto_bulk.c \
	prov_ofi/msgep/object/proto_bulk_done.c \
	prov_ofi/msgep/object/proto_ext.c prov_ofi/msgep/object/proto_read.c \
	prov_ofi/msgep/object/proto_rx.c
test_fuzz_driver_frames_CPPFLAGS = $(test_fuzz_driver_cm_msg_CPPFLAGS)
test_fuzz_driver_frames_LDADD = prov_ofi/libdaplofi-common.la -lpthread

test_fuzz_driver_pairs_SOURCES = \
	test/fuzz/driver.c test/fuzz/fuzz.h test/fuzz/fabric_msg.c test/fuzz/fabric_msg.h \
	test/fuzz/fake.c test/fuzz/fake.h \
	test/fuzz/pairs.c test/fuzz/pairs.h test/fuzz/pairs_cm.c test/fuzz/pairs_msg.c \
	test/fuzz/pairs_rig.c
fuzz_pairs_code = \
	prov_ofi/base/addr.c prov_ofi/base/error_text.c prov_ofi/base/forkfd.c \
	prov_ofi/base/key_map.c prov_ofi/base/lock.c prov_ofi/base/debug.c \
	prov_ofi/base/port_range.c prov_ofi/base/thread.c prov_ofi/base/timer.c \
	prov_ofi/fabric/fab_info.c prov_ofi/msgep/inner.c \
	prov_ofi/msgep/cm/cm_route.c prov_ofi/msgep/cm/cm_route_recv.c prov_ofi/msgep/cm/cm_msg.c \
	prov_ofi/msgep/fid/fid_ep.c prov_ofi/msgep/object/ep_conn.c prov_ofi/msgep/cm/inbox.c \
	prov_ofi/msgep/object/mr.c prov_ofi/msgep/pair/pair_conn.c prov_ofi/msgep/pair/pair_bulk.c \
	prov_ofi/msgep/pair/pair_carry.c prov_ofi/msgep/pair/pair_cm.c \
	prov_ofi/msgep/pair/pair_end.c prov_ofi/msgep/pair/pair_events.c \
	prov_ofi/msgep/pair/pair_link.c prov_ofi/msgep/pair/pair_message.c \
	prov_ofi/msgep/pair/pair_open.c prov_ofi/msgep/pair/pair_poll.c \
	prov_ofi/msgep/pair/pair_post.c prov_ofi/msgep/pair/pair_reap.c \
	prov_ofi/msgep/pair/pair_recv.c prov_ofi/msgep/pair/pair_send.c \
	prov_ofi/msgep/pair/pair_share.c prov_ofi/msgep/pair/pair_sock.c \
	prov_ofi/msgep/pair/pair_token.c prov_ofi/msgep/pair/pair_transfer.c \
	prov_ofi/msgep/pair/pair_unsolicited.c prov_ofi/msgep/pair/pair_work.c \
	prov_ofi/msgep/object/post.c \
	prov_ofi/msgep/object/ep_end.c prov_ofi/msgep/object/proto_frame.c \
	prov_ofi/msgep/object/proto_tx.c prov_ofi/msgep/object/proto_bulk.c \
	prov_ofi/msgep/object/proto_bulk_done.c \
	prov_ofi/msgep/object/proto_ext.c prov_ofi/msgep/object/proto_read.c \
	prov_ofi/msgep/object/proto_rx.c prov_ofi/msgep/object/srx.c \
	prov_ofi/msgep/tcp_socks.c
test_fuzz_driver_pairs_CPPFLAGS = $(test_fuzz_driver_cm_msg_CPPFLAGS)
test_fuzz_driver_pairs_LDFLAGS = -Wl,--wrap=clock_gettime
test_fuzz_driver_pairs_LDADD = prov_ofi/libdaplofi-common.la -lpthread

test_fuzz_driver_ready_SOURCES = \
	test/fuzz/ready.c test/fuzz/driver.c test/fuzz/fuzz.h
fuzz_ready_code = \
	prov_ofi/base/debug.c prov_ofi/base/lock.c prov_ofi/msgep/object/cq_ready.c
test_fuzz_driver_ready_CPPFLAGS = $(test_fuzz_driver_cm_msg_CPPFLAGS)
test_fuzz_driver_ready_LDADD = prov_ofi/libdaplofi-common.la -lpthread

FUZZ_TIME = 5
fuzz: test/fuzz/driver-packets test/fuzz/driver-cm_msg test/fuzz/driver-frames \
		test/fuzz/driver-pairs test/fuzz/driver-ready
	srcdir=$(srcdir) FUZZ_TIME=$(FUZZ_TIME) FUZZ_CPPFLAGS="$(LIBFABRIC_CFLAGS)" \
		$(srcdir)/test/fuzz/fuzz.sh

# The script compiles by itself, where there is a clang that has libFuzzer; in a build with a
# sanitizer it runs the drivers of that build.
AM_TESTS_ENVIRONMENT = FUZZ_CPPFLAGS="$(LIBFABRIC_CFLAGS)"; export FUZZ_CPPFLAGS;
if SANITIZED
AM_TESTS_ENVIRONMENT += FUZZ_CC=none; export FUZZ_CC;
endif

mostlyclean-local:
	rm -rf fuzz-new fuzz-crash
.PHONY: fuzz
