# Tests of the transport over RDM endpoints of libfabric: two domains in one process.
if HAVE_CUNIT
check_PROGRAMS += test/msgep/rdm
long_tests += test/msgep/rdm

test_msgep_rdm_SOURCES = \
	test/msgep/t_rdm.c \
	test/msgep/t_rdm_bad.c \
	test/msgep/t_rdm_large.c \
	test/msgep/t_rdm_close.c \
	test/msgep/t_rdm_end.c \
	test/msgep/t_rdm_probe.c \
	test/msgep/rdm_rig.c \
	test/msgep/rdm_rig.h \
	prov_ofi/base/addr.c prov_ofi/base/error_text.c \
	prov_ofi/base/forkfd.c \
	prov_ofi/base/debug.c prov_ofi/base/lock.c \
	prov_ofi/base/log.c \
	prov_ofi/base/edit_distance.c \
	prov_ofi/base/env.c \
	prov_ofi/base/param.c prov_ofi/base/port_range.c \
	prov_ofi/base/log_file.c \
	prov_ofi/fabric/fab_info.c \
	prov_ofi/fabric/fab_lib.c \
	prov_ofi/msgep/cq_signal.c \
	prov_ofi/msgep/inner.c \
	prov_ofi/msgep/rdm/rdm.c \
	prov_ofi/msgep/rdm/rdm.h \
	prov_ofi/msgep/rdm/rdm_recv.c \
	prov_ofi/msgep/rdm/rdm_large.c \
	prov_ofi/msgep/rdm/rdm_packets.c \
	prov_ofi/msgep/rdm/rdm_open.c \
	prov_ofi/msgep/rdm/rdm_probe.c \
	prov_ofi/msgep/rdm/rdm_peers.c \
	prov_ofi/msgep/rdm/rdm_constrained.c \
	prov_ofi/diag/diag_fabric.c \
	prov_ofi/diag/diag_memory.c
test_msgep_rdm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS) \
	-DDOFI_API=20
test_msgep_rdm_LDADD = libdattest.la -ldl -lpthread
endif
