# dat_info against registries of all kinds; by hand, from the top of a build tree: test/tools/info
# One thread per process: nothing for TSan to see.
if !TSAN
long_tests += test/tools/info
endif
EXTRA_DIST += test/tools/info

check_LTLIBRARIES += test/tools/bad.la
test_tools_bad_la_SOURCES = test/tools/bad.c
test_tools_bad_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
