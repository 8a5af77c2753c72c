# Manual pages against sources, headers and what calls return; the examples and docs/walkthrough.md, run.
# By hand: from the top of a build tree.
if !SANITIZED
TESTS += test/man/pages.sh
long_tests += test/man/snippets.sh test/man/results.sh test/man/walkthrough.sh
endif
long_tests += test/man/examples.sh
EXTRA_DIST += test/man/examples.sh test/man/lib.sh test/man/pages.sh test/man/results.sh \
	test/man/snippets.c test/man/snippets.sh test/man/walkthrough.sh

check_PROGRAMS += test/man/results test/man/results-12
test_man_results_SOURCES = test/man/results.c examples/common.h
test_man_results_CPPFLAGS = -I$(top_srcdir) $(AM_CPPFLAGS)
test_man_results_LDADD = libdat2.la
test_man_results_12_SOURCES = $(test_man_results_SOURCES) test/man/as12/dat2/udat.h \
	test/man/as12/dat2/dat_registry.h
test_man_results_12_CPPFLAGS = -I$(srcdir)/test/man/as12 $(test_man_results_CPPFLAGS)
test_man_results_12_LDADD = libdat.la
