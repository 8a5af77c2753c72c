# Connections of our own making: the connection manager alone, played with from all sides.
if HAVE_CUNIT
check_PROGRAMS += test/msgep/test-msgep
TESTS += test/msgep/test-msgep

test_msgep_test_msgep_SOURCES = \
	test/msgep/main.c \
	test/msgep/rig.c \
	test/msgep/rig.h \
	test/msgep/t_cm.c \
	test/msgep/t_cm_bad.c \
	test/msgep/t_cm_end.c \
	test/msgep/t_cm_proto.c \
	test/msgep/t_cm_seal.c \
	test/msgep/t_cm_secret.c \
	test/msgep/t_cm_msg.c \
	test/msgep/t_lock.c \
	test/msgep/t_pair_send.c \
	prov_ofi/base/addr.c prov_ofi/base/error_text.c \
	prov_ofi/base/forkfd.c \
	prov_ofi/base/debug.c prov_ofi/base/lock.c \
	prov_ofi/base/log.c \
	prov_ofi/base/edit_distance.c \
	prov_ofi/base/env.c \
	prov_ofi/base/param.c \
	prov_ofi/base/log_file.c \
	prov_ofi/base/timer.c \
	prov_ofi/proto/cm_brief.c \
	prov_ofi/proto/cm_proto.c \
	prov_ofi/proto/cm_seal.c \
	prov_ofi/fabric/fab_info.c \
	prov_ofi/fabric/netif.c prov_ofi/fabric/netif.h \
	prov_ofi/msgep/cm/cm.c prov_ofi/msgep/cm/cm.h prov_ofi/msgep/cm/cm_int.h \
	prov_ofi/msgep/cm/cm_conn.c \
	prov_ofi/msgep/cm/cm_dial.c \
	prov_ofi/msgep/cm/cm_route.c \
	prov_ofi/msgep/cm/inbox.c prov_ofi/msgep/cm/inbox.h \
	prov_ofi/msgep/cm/cm_end.c \
	prov_ofi/msgep/cm/cm_listen.c \
	prov_ofi/msgep/cm/cm_path_check.c \
	prov_ofi/msgep/cm/cm_stall.c \
	prov_ofi/proto/cm_secret.c prov_ofi/proto/cm_secret.h \
	prov_ofi/msgep/cm/cm_sock.c \
	prov_ofi/msgep/cm/cm_peer_cred.c \
	prov_ofi/msgep/cm/cm_msg.c prov_ofi/msgep/cm/cm_msg.h \
	prov_ofi/msgep/pair/pair.h prov_ofi/msgep/pair/pair_send.c \
	prov_ofi/msgep/frame.h prov_ofi/msgep/msgep.h
test_msgep_test_msgep_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_msgep_test_msgep_LDADD = libdattest.la -lpthread
endif
