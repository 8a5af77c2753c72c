# The wire over shared memory with everything above it: how it fares with peers that cheat.
if HAVE_CUNIT
check_PROGRAMS += test/msgep/shm
TESTS += test/msgep/shm

test_msgep_shm_SOURCES = \
	test/msgep/shm_main.c \
	test/msgep/shm_rig.c \
	test/msgep/shm_rig.h \
	test/msgep/t_shm_frames.c \
	test/msgep/t_shm_params.c \
	test/msgep/t_shm_read.c \
	test/msgep/t_shm_order.c test/msgep/t_shm_idle.c \
	test/msgep/t_shm_ready.c test/msgep/t_shm_ready_bad.c \
	test/msgep/t_shm_sleep.c test/msgep/t_assert.c \
	prov_ofi/base/addr.c prov_ofi/base/error_text.c \
	prov_ofi/base/key_map.c \
	prov_ofi/base/forkfd.c \
	prov_ofi/base/debug.c prov_ofi/base/lock.c \
	prov_ofi/base/log.c \
	prov_ofi/base/edit_distance.c \
	prov_ofi/base/env.c \
	prov_ofi/base/param.c \
	prov_ofi/base/log_file.c \
	prov_ofi/base/timer.c \
	prov_ofi/fabric/fab_info.c \
	prov_ofi/fabric/netif.c \
	prov_ofi/msgep/cm/cm.c \
	prov_ofi/msgep/cm/cm_conn.c \
	prov_ofi/msgep/cm/cm_dial.c \
	prov_ofi/msgep/cm/cm_route.c \
	prov_ofi/msgep/cm/inbox.c prov_ofi/msgep/cm/inbox.h \
	prov_ofi/msgep/cm/cm_end.c \
	prov_ofi/msgep/cm/cm_listen.c \
	prov_ofi/msgep/cm/cm_path_check.c \
	prov_ofi/msgep/cm/cm_stall.c \
	prov_ofi/proto/cm_secret.c \
	prov_ofi/msgep/cm/cm_sock.c \
	prov_ofi/msgep/cm/cm_peer_cred.c \
	prov_ofi/msgep/cm/cm_msg.c \
	prov_ofi/msgep/fid/cq.c prov_ofi/msgep/object/cq_ring.c \
	prov_ofi/msgep/object/cq_poll.c \
	prov_ofi/msgep/object/cq_ready.c \
	prov_ofi/msgep/fid/ep.c prov_ofi/msgep/object/ep_conn.c \
	prov_ofi/msgep/fid/eq.c prov_ofi/msgep/object/eq_events.c \
	prov_ofi/msgep/fid/fabric.c \
	prov_ofi/msgep/object/mr.c \
	prov_ofi/msgep/fid/pep.c \
	prov_ofi/msgep/object/post.c \
	prov_ofi/msgep/object/proto.c \
	prov_ofi/msgep/object/proto_ext.c \
	prov_ofi/msgep/object/proto_bulk.c \
	prov_ofi/msgep/object/proto_read.c \
	prov_ofi/msgep/object/proto_rx.c \
	prov_ofi/msgep/shm/shm_pull.c \
	prov_ofi/msgep/shm/shm_ready.c \
	prov_ofi/msgep/object/srx.c \
	prov_ofi/msgep/shm/shm.c
test_msgep_shm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_msgep_shm_LDADD = libdattest.la -lpthread
endif
