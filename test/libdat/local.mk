# Tests of libdat: one source per topic, compiled once per API version.
if HAVE_CUNIT
libdat_test_cppflags = -I$(top_builddir) -I$(top_srcdir)/test/libdat $(AM_CPPFLAGS) \
	$(CUNIT_CFLAGS) -DSAMPLE_CONF_PATH='"$(abs_top_srcdir)/etc/dat.conf"'
libdat_test_sources = \
	test/libdat/dat_api.h \
	test/libdat/fake.h \
	test/libdat/main.c \
	test/libdat/rig.c \
	test/libdat/rig.h \
	test/libdat/t_builtin.c \
	test/libdat/t_close.c \
	test/libdat/t_conf.c \
	test/libdat/t_diag.c \
	test/libdat/t_dispatch.c \
	test/libdat/t_list.c \
	test/libdat/t_open.c \
	test/libdat/t_register.c \
	test/libdat/t_strerror.c \
	test/libdat/t_threads.c

# Loaded with dlopen: built shared although never installed.
libdat_test_module = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere

check_LTLIBRARIES += \
	test/libdat/fake1.la test/libdat/fake2.la \
	test/libdat/part1.la test/libdat/part2.la \
	test/libdat/conf/libdat.la test/libdat/conf/libdat2.la

test_libdat_fake1_la_SOURCES = test/libdat/fake.c
test_libdat_fake1_la_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=1
test_libdat_fake1_la_LDFLAGS = $(libdat_test_module)
test_libdat_fake1_la_LIBADD = libdat.la
test_libdat_fake2_la_SOURCES = test/libdat/fake.c
test_libdat_fake2_la_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=2
test_libdat_fake2_la_LDFLAGS = $(libdat_test_module)
test_libdat_fake2_la_LIBADD = libdat2.la

test_libdat_part1_la_SOURCES = test/libdat/both_part.c
test_libdat_part1_la_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=1
test_libdat_part1_la_LDFLAGS = $(libdat_test_module)
test_libdat_part1_la_LIBADD = libdat.la
test_libdat_part2_la_SOURCES = test/libdat/both_part.c
test_libdat_part2_la_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=2
test_libdat_part2_la_LDFLAGS = $(libdat_test_module)
test_libdat_part2_la_LIBADD = libdat2.la

# The libraries once more, with their dat.conf in the build tree.
libdat_test_conf = $(abs_top_builddir)/test/libdat/conf/dat.conf
test_libdat_conf_libdat_la_SOURCES = $(dati_sources)
test_libdat_conf_libdat_la_CPPFLAGS = -I$(top_builddir) -I$(top_srcdir)/src $(AM_CPPFLAGS) \
	-DDAT_API_MAJOR=1 -DDATI_PROVIDER_DIR='"/nowhere"' \
	-DDATI_CONF_PATH='"$(libdat_test_conf)1"'
test_libdat_conf_libdat_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -rpath /nowhere \
	-Wl,--version-script=$(top_srcdir)/src/libdat.map
test_libdat_conf_libdat2_la_SOURCES = $(libdat2_la_SOURCES)
test_libdat_conf_libdat2_la_CPPFLAGS = -I$(top_builddir) -I$(top_srcdir)/src $(AM_CPPFLAGS) \
	-DDAT_API_MAJOR=2 -DDATI_PROVIDER_DIR='"/nowhere"' \
	-DDATI_CONF_PATH='"$(libdat_test_conf)2"'
test_libdat_conf_libdat2_la_LDFLAGS = $(AM_LDFLAGS) -version-info 2:0:0 -rpath /nowhere \
	-Wl,--version-script=$(top_srcdir)/src/libdat2.map

check_PROGRAMS += test/libdat/check_dat1 test/libdat/check_dat2 test/libdat/check_both
TESTS += test/libdat/check_dat1 test/libdat/check_dat2 test/libdat/check_both

test_libdat_check_dat1_SOURCES = $(libdat_test_sources)
test_libdat_check_dat1_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=1 \
	-DLIBDAT_PATH='"$(abs_top_builddir)/.libs/libdat.so.1"' \
	-DLIBDAT_CONF_PATH='"$(abs_top_builddir)/test/libdat/conf/.libs/libdat.so.1"' \
	-DSYSTEM_CONF_PATH='"$(libdat_test_conf)1"' \
	-DFAKE_PATH='"$(abs_top_builddir)/test/libdat/.libs/fake1.so"'
test_libdat_check_dat1_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_libdat_check_dat1_LDADD = $(CUNIT_LIBS)
EXTRA_test_libdat_check_dat1_DEPENDENCIES = test/libdat/fake1.la test/libdat/conf/libdat.la

test_libdat_check_dat2_SOURCES = $(libdat_test_sources) \
	test/libdat/t_extension.c test/libdat/t_related.c
test_libdat_check_dat2_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=2 \
	-DLIBDAT_PATH='"$(abs_top_builddir)/.libs/libdat2.so.2"' \
	-DLIBDAT_CONF_PATH='"$(abs_top_builddir)/test/libdat/conf/.libs/libdat2.so.2"' \
	-DSYSTEM_CONF_PATH='"$(libdat_test_conf)2"' \
	-DFAKE_PATH='"$(abs_top_builddir)/test/libdat/.libs/fake2.so"'
test_libdat_check_dat2_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_libdat_check_dat2_LDADD = $(CUNIT_LIBS)
EXTRA_test_libdat_check_dat2_DEPENDENCIES = test/libdat/fake2.la test/libdat/conf/libdat2.la

test_libdat_check_both_SOURCES = test/libdat/both.c
test_libdat_check_both_CPPFLAGS = $(libdat_test_cppflags) -DDAT_API_MAJOR=2 \
	-DPART1_PATH='"$(abs_top_builddir)/test/libdat/.libs/part1.so"' \
	-DPART2_PATH='"$(abs_top_builddir)/test/libdat/.libs/part2.so"' \
	-DFAKE1_PATH='"$(abs_top_builddir)/test/libdat/.libs/fake1.so"' \
	-DFAKE2_PATH='"$(abs_top_builddir)/test/libdat/.libs/fake2.so"'
test_libdat_check_both_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_libdat_check_both_LDADD = $(CUNIT_LIBS)
EXTRA_test_libdat_check_both_DEPENDENCIES = test/libdat/fake1.la test/libdat/fake2.la \
	test/libdat/part1.la test/libdat/part2.la
endif HAVE_CUNIT

if !SANITIZED
TESTS += test/libdat/symbols.sh
endif
EXTRA_DIST += \
	test/libdat/calls_1.def \
	test/libdat/calls_2.def \
	test/libdat/calls_21.def \
	test/libdat/symbols-1.2.txt \
	test/libdat/symbols-2.0.txt \
	test/libdat/symbols-2.1.txt \
	test/libdat/symbols-ofi.txt \
	test/libdat/symbols.sh
