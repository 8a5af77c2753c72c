# dat_perf with few iterations; by hand, from the top of a build tree: test/perf/smoke.sh
TESTS += test/perf/smoke.sh
# What these add is the tool's own, of which each sanitizer sees what concerns it.
if !TSAN
TESTS += test/perf/modes.sh test/perf/network.sh
endif
if !SANITIZED
TESTS += test/perf/formats.sh test/perf/pingpong.sh
endif
EXTRA_DIST += test/perf/fields.sh test/perf/lib.sh test/perf/smoke.sh test/perf/modes.sh \
	test/perf/formats.sh test/perf/network.sh test/perf/pingpong.sh test/perf/table.sh
