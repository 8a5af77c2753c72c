# Connections of our own making: the connection manager alone, played with from all sides.
if HAVE_CUNIT
check_PROGRAMS += test/rdm/test-rdm
TESTS += test/rdm/test-rdm

test_rdm_test_rdm_SOURCES = \
	test/rdm/main.c \
	test/rdm/rig.c \
	test/rdm/rig.h \
	test/rdm/t_cm.c \
	test/rdm/t_cm_bad.c \
	test/rdm/t_cm_end.c \
	test/rdm/t_cm_proto.c \
	test/rdm/t_cm_seal.c \
	test/rdm/t_cm_secret.c \
	test/rdm/t_cm_wire.c \
	test/rdm/t_lock.c \
	prov_ofi/addr.c \
	prov_ofi/base/forkfd.c \
	prov_ofi/base/lock.c \
	prov_ofi/base/log.c \
	prov_ofi/base/near.c \
	prov_ofi/base/env.c \
	prov_ofi/base/param.c \
	prov_ofi/base/sink.c \
	prov_ofi/base/timer.c \
	prov_ofi/cm_brief.c \
	prov_ofi/cm_proto.c \
	prov_ofi/cm_seal.c \
	prov_ofi/netif.c prov_ofi/netif.h \
	prov_ofi/rdm/cm.c prov_ofi/rdm/cm.h prov_ofi/rdm/cm_int.h \
	prov_ofi/rdm/cm_conn.c \
	prov_ofi/rdm/cm_dial.c \
	prov_ofi/rdm/cm_route.c \
	prov_ofi/rdm/inbox.c prov_ofi/rdm/inbox.h \
	prov_ofi/rdm/cm_end.c \
	prov_ofi/rdm/cm_listen.c \
	prov_ofi/rdm/cm_prove.c \
	prov_ofi/rdm/cm_stall.c \
	prov_ofi/rdm/cm_secret.c prov_ofi/rdm/cm_secret.h \
	prov_ofi/rdm/cm_sock.c \
	prov_ofi/rdm/cm_trust.c \
	prov_ofi/rdm/cm_wire.c prov_ofi/rdm/cm_wire.h \
	prov_ofi/rdm/frame.h prov_ofi/rdm/rdm.h
test_rdm_test_rdm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_rdm_test_rdm_LDADD = libdattest.la -lpthread
endif
