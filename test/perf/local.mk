# dat_perf with few iterations; by hand, from the top of a build tree: test/perf/smoke.sh
TESTS += test/perf/smoke.sh
# These test the tool itself, and measure, so they take minutes however few processors are in use;
# but instructions.sh counts, and tests the library.
if !SANITIZED
long_tests += test/perf/modes.sh test/perf/instructions.sh
nightly_tests += test/perf/formats.sh test/perf/network.sh test/perf/patterns.sh test/perf/pingpong.sh
endif
EXTRA_DIST += test/perf/fields.sh test/perf/lib.sh test/perf/smoke.sh test/perf/modes.sh \
	test/perf/formats.sh test/perf/network.sh test/perf/patterns.sh test/perf/pingpong.sh \
	test/perf/figures.sh test/perf/plots.sh test/perf/table.sh test/perf/instructions.sh test/perf/instructions

# Collectives, to be compared with those of an MPI: test/perf/coll.sh
check_PROGRAMS += test/perf/coll
test_perf_coll_SOURCES = test/perf/coll.c test/perf/coll.h test/perf/coll_dat.c
test_perf_coll_LDFLAGS = $(AM_LDFLAGS) -no-install
test_perf_coll_LDADD = libdat2.la
EXTRA_DIST += test/perf/coll.sh test/perf/coll_mpi.c
