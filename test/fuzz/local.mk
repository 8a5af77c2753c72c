# Bytes that nobody would send. `make fuzz FUZZ_TIME=600` for a long run; make check has a short one.
check_PROGRAMS += test/fuzz/driver-cm_wire
TESTS += test/fuzz/fuzz.sh
EXTRA_DIST += test/fuzz/fuzz.sh \
	test/fuzz/corpus/cm_wire/accept \
	test/fuzz/corpus/cm_wire/bells-bye \
	test/fuzz/corpus/cm_wire/hello-challenge \
	test/fuzz/corpus/cm_wire/http \
	test/fuzz/corpus/cm_wire/long-request \
	test/fuzz/corpus/cm_wire/reject \
	test/fuzz/corpus/cm_wire/request-v4 \
	test/fuzz/corpus/cm_wire/request-v6-accept \
	test/fuzz/corpus/cm_wire/sealed-request \
	test/fuzz/corpus/cm_wire/version-2

test_fuzz_driver_cm_wire_SOURCES = test/fuzz/cm_wire.c test/fuzz/driver.c test/fuzz/fuzz.h \
	prov_ofi/rdm/cm_secret.h prov_ofi/rdm/cm_wire.c prov_ofi/rdm/cm_wire.h
test_fuzz_driver_cm_wire_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi \
	$(LIBFABRIC_CFLAGS)

FUZZ_TIME = 5
fuzz: test/fuzz/driver-cm_wire
	srcdir=$(srcdir) FUZZ_TIME=$(FUZZ_TIME) FUZZ_CPPFLAGS="$(LIBFABRIC_CFLAGS)" \
		$(srcdir)/test/fuzz/fuzz.sh

# The script compiles by itself, where there is a clang that has libFuzzer.
AM_TESTS_ENVIRONMENT = FUZZ_CPPFLAGS="$(LIBFABRIC_CFLAGS)"; export FUZZ_CPPFLAGS;

mostlyclean-local:
	rm -rf fuzz-new fuzz-crash
.PHONY: fuzz
