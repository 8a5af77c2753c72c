# test
include test/perf/local.mk
