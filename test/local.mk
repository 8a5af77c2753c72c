# The programs of test/robust are not run side by side, so they start first, and with a sanitizer the
# suite of 2.0 takes longest. Each folder has its tests of more than half a minute in long_tests, and
# those that make check-all leaves out in nightly_tests.
include test/robust/local.mk
if HAVE_CUNIT
TESTS += test/api/test-api-20
endif
TESTS += $(long_tests) $(nightly_tests)
include test/perf/local.mk
include test/abi/local.mk
include test/libdat/local.mk
include test/lib/local.mk
include test/api/local.mk
include test/stock/local.mk
include test/fabrics/local.mk
include test/vm/local.mk
EXTRA_DIST += test/libfabric/get
include test/compare/local.mk
include test/tools/calls.mk
include test/tools/info.mk
include test/tools/run.mk
include test/tools/top.mk
include test/diag/local.mk
include test/msgep/local.mk
include test/fuzz/local.mk
include test/faults/local.mk
include test/man/local.mk
include test/structure/local.mk
include test/packaging/local.mk
include test/roots/local.mk
