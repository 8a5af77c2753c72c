# Tests of error messages, log, trace and probes.
EXTRA_DIST += test/diag/probes.sh
TESTS += test/diag/probes.sh

if HAVE_CUNIT
check_LTLIBRARIES += test/diag/shim/libfabric.la
check_LTLIBRARIES += test/diag/hostile/libhostile-fi.la
check_PROGRAMS += test/diag/player-12 test/diag/player-20
check_PROGRAMS += test/diag/privileged-12 test/diag/privileged-20
check_PROGRAMS += test/diag/test-diag-12 test/diag/test-diag-20
TESTS += test/diag/test-diag-20
if !SANITIZED
long_tests += test/diag/test-diag-12
endif

# Stands in for libfabric and fails on demand.
test_diag_shim_libfabric_la_SOURCES = test/diag/shim.c
test_diag_shim_libfabric_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBFABRIC_CFLAGS) \
	-DREAL_LIBFABRIC='"$(LIBFABRIC_LIBDIR)/libfabric.so.1"'
test_diag_shim_libfabric_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shrext .so.1 \
	-rpath /nowhere

# A caller's provider for libfabric, which a program with more rights must not load.
test_diag_hostile_libhostile_fi_la_SOURCES = test/diag/hostile.c
test_diag_hostile_libhostile_fi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere

# With additional privileges it finds libraries by its RUNPATH only.
test_diag_privileged_12_SOURCES = test/diag/privileged.c test/api/api.h
test_diag_privileged_12_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_TEST_API=12
test_diag_privileged_12_LDFLAGS = $(AM_LDFLAGS) -no-install
test_diag_privileged_12_LDADD = libdat.la
test_diag_privileged_20_SOURCES = test/diag/privileged.c test/api/api.h
test_diag_privileged_20_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_TEST_API=20
test_diag_privileged_20_LDFLAGS = $(AM_LDFLAGS) -no-install
test_diag_privileged_20_LDADD = libdat2.la

test_diag_player_12_SOURCES = test/diag/player.c test/api/api.h
test_diag_player_12_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_TEST_API=12
test_diag_player_12_LDADD = libdat.la
test_diag_player_20_SOURCES = test/diag/player.c test/api/api.h
test_diag_player_20_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_TEST_API=20
test_diag_player_20_LDADD = libdat2.la

test_diag_sources = \
	test/diag/main.c \
	test/diag/run.c \
	test/diag/run.h \
	test/diag/t_cause.c \
	test/diag/t_connect.c \
	test/diag/t_log.c \
	test/diag/t_privileged.c \
	test/diag/t_trace.c
test_diag_cppflags = $(AM_CPPFLAGS) \
	-DTEST_SHIM_DIR='"$(abs_top_builddir)/test/diag/shim/.libs"' \
	-DTEST_HOSTILE_DIR='"$(abs_top_builddir)/test/diag/hostile/.libs"'

test_diag_test_diag_12_SOURCES = $(test_diag_sources)
test_diag_test_diag_12_CPPFLAGS = $(test_diag_cppflags) -DDAT_TEST_API=12 -DOPERATION='""' \
	-DTEST_PROVIDER='"$(abs_top_builddir)/prov_ofi/dat1/.libs/libdaplofi.so.1"' \
	-DTEST_PLAYER='"$(abs_top_builddir)/test/diag/player-12"' \
	-DTEST_PRIVILEGED='"$(abs_top_builddir)/test/diag/privileged-12"' \
	-DTEST_PLAYER_ITSELF='"$(abs_top_builddir)/test/diag/.libs/player-12"'
test_diag_test_diag_12_LDADD = libdattest.la

test_diag_test_diag_20_SOURCES = $(test_diag_sources)
test_diag_test_diag_20_CPPFLAGS = $(test_diag_cppflags) -DDAT_TEST_API=20 \
	-DOPERATION='" (SEND|RECEIVE)"' \
	-DTEST_PROVIDER='"$(abs_top_builddir)/prov_ofi/dat2/.libs/libdaplofi.so.2"' \
	-DTEST_PLAYER='"$(abs_top_builddir)/test/diag/player-20"' \
	-DTEST_PRIVILEGED='"$(abs_top_builddir)/test/diag/privileged-20"' \
	-DTEST_PLAYER_ITSELF='"$(abs_top_builddir)/test/diag/.libs/player-20"'
test_diag_test_diag_20_LDADD = libdattest.la
endif
