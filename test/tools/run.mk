# The tools as users run them; by hand, from the top of a build tree: test/tools/run
check_PROGRAMS += test/tools/opens1 test/tools/opens2
# One thread per process: nothing for TSan to see.
if !TSAN
long_tests += test/tools/run
endif
EXTRA_DIST += test/tools/run test/tools/run_cases.sh test/tools/run_stock.sh

test_tools_opens1_SOURCES = test/tools/opens.c
test_tools_opens1_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_API_MAJOR=1
test_tools_opens1_LDFLAGS = $(AM_LDFLAGS) -no-install
test_tools_opens1_LDADD = libdat.la
test_tools_opens2_SOURCES = test/tools/opens.c
test_tools_opens2_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_API_MAJOR=2
test_tools_opens2_LDFLAGS = $(AM_LDFLAGS) -no-install
test_tools_opens2_LDADD = libdat2.la
