# The wire over shared memory with everything above it: how it fares with peers that cheat.
if HAVE_CUNIT
check_PROGRAMS += test/rdm/shm
TESTS += test/rdm/shm

test_rdm_shm_SOURCES = \
	test/rdm/shm_main.c \
	test/rdm/shm_rig.c \
	test/rdm/shm_rig.h \
	test/rdm/t_shm_frames.c \
	test/rdm/t_shm_offer.c \
	test/rdm/t_shm_read.c \
	test/rdm/t_shm_several.c test/rdm/t_shm_idle.c \
	test/rdm/t_shm_sleep.c \
	prov_ofi/addr.c \
	prov_ofi/base/key_map.c \
	prov_ofi/base/forkfd.c \
	prov_ofi/base/lock.c \
	prov_ofi/base/log.c \
	prov_ofi/base/near.c \
	prov_ofi/base/env.c \
	prov_ofi/base/param.c \
	prov_ofi/base/sink.c \
	prov_ofi/base/timer.c \
	prov_ofi/netif.c \
	prov_ofi/rdm/cm.c \
	prov_ofi/rdm/cm_conn.c \
	prov_ofi/rdm/cm_dial.c \
	prov_ofi/rdm/cm_route.c \
	prov_ofi/rdm/inbox.c prov_ofi/rdm/inbox.h \
	prov_ofi/rdm/cm_end.c \
	prov_ofi/rdm/cm_listen.c \
	prov_ofi/rdm/cm_prove.c \
	prov_ofi/rdm/cm_stall.c \
	prov_ofi/rdm/cm_secret.c \
	prov_ofi/rdm/cm_sock.c \
	prov_ofi/rdm/cm_trust.c \
	prov_ofi/rdm/cm_wire.c \
	prov_ofi/rdm/cq.c \
	prov_ofi/rdm/cq_look.c \
	prov_ofi/rdm/ep.c \
	prov_ofi/rdm/eq.c \
	prov_ofi/rdm/fabric.c \
	prov_ofi/rdm/mr.c \
	prov_ofi/rdm/pep.c \
	prov_ofi/rdm/post.c \
	prov_ofi/rdm/proto.c \
	prov_ofi/rdm/proto_ext.c \
	prov_ofi/rdm/proto_bulk.c \
	prov_ofi/rdm/proto_read.c \
	prov_ofi/rdm/proto_rx.c \
	prov_ofi/rdm/shm_pull.c \
	prov_ofi/rdm/srx.c \
	prov_ofi/rdm/wire_shm.c
test_rdm_shm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_rdm_shm_LDADD = libdattest.la -lpthread
endif
