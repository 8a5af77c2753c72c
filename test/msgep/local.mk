# Connections of our own making: the connection manager alone, played with from all sides.
if HAVE_CUNIT
check_PROGRAMS += test/msgep/test-msgep
TESTS += test/msgep/test-msgep

test_msgep_test_msgep_SOURCES = \
	test/msgep/main.c test/msgep/rig.c test/msgep/rig.h test/msgep/t_cm.c \
	test/msgep/t_cm_bad.c test/msgep/t_cm_end.c test/msgep/t_cm_proto.c \
	test/msgep/t_cm_part.c test/msgep/t_cm_seal.c test/msgep/t_cm_secret.c test/msgep/t_cm_msg.c test/msgep/t_lock.c \
	test/msgep/t_pair_send.c test/msgep/t_pair_carry.c \
	test/msgep/t_pair_unsolicited.c test/msgep/t_pair.h \
	test/msgep/t_progress.c prov_ofi/progress/progress_cq.c
test_msgep_test_msgep_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS) -DDOFI_API=20
test_msgep_test_msgep_LDADD = prov_ofi/libdaplofi-common.la libdattest.la -lpthread

# A completion queue with endpoints of the test's own.
check_PROGRAMS += test/msgep/queue
TESTS += test/msgep/queue

test_msgep_queue_SOURCES = test/msgep/t_cq_touch.c
test_msgep_queue_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_msgep_queue_LDADD = prov_ofi/libdaplofi-common.la libdattest.la -ldl -lpthread

# Long data over connected endpoints, below which libfabric's objects are stubs.
check_PROGRAMS += test/msgep/long
TESTS += test/msgep/long

test_msgep_long_SOURCES = test/msgep/t_pair_long.c
test_msgep_long_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_msgep_long_LDADD = prov_ofi/libdaplofi-common.la libdattest.la -ldl -lpthread
endif
