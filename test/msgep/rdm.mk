# Tests of the transport over RDM endpoints of libfabric: two domains in one process.
if HAVE_CUNIT
check_PROGRAMS += test/msgep/rdm
long_tests += test/msgep/rdm

test_msgep_rdm_SOURCES = \
	test/msgep/t_rdm.c test/msgep/t_rdm_bad.c test/msgep/t_rdm_large.c \
	test/msgep/t_rdm_close.c test/msgep/t_rdm_end.c test/msgep/t_rdm_probe.c \
	test/msgep/t_rdm_reply.c \
	test/msgep/rdm_rig.c test/msgep/rdm_rig.h
test_msgep_rdm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_msgep_rdm_LDADD = prov_ofi/libdaplofi-common.la libdattest.la -ldl -lpthread
endif
