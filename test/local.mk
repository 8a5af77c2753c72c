# test
include test/perf/local.mk
include test/abi/local.mk
