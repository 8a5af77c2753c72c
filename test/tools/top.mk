# dat_top as users run it; by hand, from the top of a build tree: test/tools/top
check_PROGRAMS += test/tools/counts1 test/tools/counts2
# The tool has one thread, and the counters that it reads belong to another process.
if !TSAN
TESTS += test/tools/top
endif
EXTRA_DIST += test/tools/top

test_tools_counts1_SOURCES = test/tools/counts.c
test_tools_counts1_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_API_MAJOR=1
test_tools_counts1_LDFLAGS = $(AM_LDFLAGS) -no-install
test_tools_counts1_LDADD = libdat.la
test_tools_counts2_SOURCES = test/tools/counts.c
test_tools_counts2_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_API_MAJOR=2
test_tools_counts2_LDFLAGS = $(AM_LDFLAGS) -no-install
test_tools_counts2_LDADD = libdat2.la
