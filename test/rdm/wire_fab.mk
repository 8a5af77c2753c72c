# The wire over RDM endpoints of libfabric, alone: two domains in one process.
if HAVE_CUNIT
check_PROGRAMS += test/rdm/wire-fab
TESTS += test/rdm/wire-fab

test_rdm_wire_fab_SOURCES = \
	test/rdm/t_wire_fab.c \
	test/rdm/t_wire_fab_bad.c \
	test/rdm/t_wire_fab_bulk.c \
	test/rdm/t_wire_fab_close.c \
	test/rdm/t_wire_fab_end.c \
	test/rdm/t_wire_fab_probe.c \
	test/rdm/wire_fab_rig.c \
	test/rdm/wire_fab_rig.h \
	prov_ofi/base/forkfd.c \
	prov_ofi/base/lock.c \
	prov_ofi/base/log.c \
	prov_ofi/base/near.c \
	prov_ofi/base/env.c \
	prov_ofi/base/param.c \
	prov_ofi/base/sink.c \
	prov_ofi/fab_lib.c \
	prov_ofi/rdm/cq_signal.c \
	prov_ofi/rdm/wire_fab.c \
	prov_ofi/rdm/wire_fab.h \
	prov_ofi/rdm/wire_fab_arrive.c \
	prov_ofi/rdm/wire_fab_bulk.c \
	prov_ofi/rdm/wire_fab_cells.c \
	prov_ofi/rdm/wire_fab_open.c \
	prov_ofi/rdm/wire_fab_probe.c \
	prov_ofi/rdm/wire_fab_peers.c \
	prov_ofi/rdm/wire_fab_test.c \
	prov_ofi/why_fab.c \
	prov_ofi/why_mem.c
test_rdm_wire_fab_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS) \
	-DDOFI_API=20
test_rdm_wire_fab_LDADD = libdattest.la -ldl -lpthread
endif
