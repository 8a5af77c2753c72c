# dat_perf with few iterations; by hand, from the top of a build tree: test/perf/smoke.sh
TESTS += test/perf/smoke.sh
EXTRA_DIST += test/perf/fields.sh test/perf/smoke.sh
