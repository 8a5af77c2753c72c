# dat_info --calls against the libraries, their attributes and the pages; by hand, from the top of a
# build tree: test/tools/calls
# One thread per process that matters to the test: nothing for TSan to see.
if !TSAN
long_tests += test/tools/calls
endif
EXTRA_DIST += test/tools/calls test/tools/calls.py

check_LTLIBRARIES += test/tools/liar.la
test_tools_liar_la_SOURCES = test/tools/liar.c
test_tools_liar_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
