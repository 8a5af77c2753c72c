# test
include test/perf/local.mk
include test/abi/local.mk
include test/libdat/local.mk
include test/robust/local.mk
include test/lib/local.mk
include test/api/local.mk
include test/stock/local.mk
