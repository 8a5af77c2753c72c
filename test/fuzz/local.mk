# Bytes that nobody would send. `make fuzz FUZZ_TIME=600` for a long run; make check has a short
# one.
check_PROGRAMS += test/fuzz/driver-cells test/fuzz/driver-cm_wire test/fuzz/driver-frames
TESTS += test/fuzz/fuzz.sh
EXTRA_DIST += test/fuzz/fuzz.sh \
	test/fuzz/corpus/cells/asks \
	test/fuzz/corpus/cells/bulk \
	test/fuzz/corpus/cells/bye \
	test/fuzz/corpus/cells/cells \
	test/fuzz/corpus/cells/close \
	test/fuzz/corpus/cells/fails \
	test/fuzz/corpus/cells/give-back \
	test/fuzz/corpus/cells/offers \
	test/fuzz/corpus/cells/out-of-order \
	test/fuzz/corpus/cells/recall \
	test/fuzz/corpus/cells/send-long \
	test/fuzz/corpus/cm_wire/accept \
	test/fuzz/corpus/cm_wire/bells-bye \
	test/fuzz/corpus/cm_wire/hello-challenge \
	test/fuzz/corpus/cm_wire/http \
	test/fuzz/corpus/cm_wire/long-request \
	test/fuzz/corpus/cm_wire/reject \
	test/fuzz/corpus/cm_wire/request-v4 \
	test/fuzz/corpus/cm_wire/request-v6-accept \
	test/fuzz/corpus/cm_wire/sealed-request \
	test/fuzz/corpus/cm_wire/version-2 \
	test/fuzz/corpus/frames/message \
	test/fuzz/corpus/frames/message-in-two \
	test/fuzz/corpus/frames/message-pulled \
	test/fuzz/corpus/frames/message-too-long \
	test/fuzz/corpus/frames/message-waits \
	test/fuzz/corpus/frames/ours-read \
	test/fuzz/corpus/frames/ours-read-granted \
	test/fuzz/corpus/frames/ours-read-revoked \
	test/fuzz/corpus/frames/ours-refused \
	test/fuzz/corpus/frames/ours-sent \
	test/fuzz/corpus/frames/ours-written \
	test/fuzz/corpus/frames/read \
	test/fuzz/corpus/frames/read-granted-and-closed \
	test/fuzz/corpus/frames/write \
	test/fuzz/corpus/frames/write-pulled \
	test/fuzz/corpus/frames/write-refused

test_fuzz_driver_cm_wire_SOURCES = test/fuzz/cm_wire.c test/fuzz/driver.c test/fuzz/fuzz.h \
	prov_ofi/rdm/cm_secret.h prov_ofi/rdm/cm_wire.c prov_ofi/rdm/cm_wire.h
test_fuzz_driver_cm_wire_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi \
	$(LIBFABRIC_CFLAGS)

test_fuzz_driver_cells_SOURCES = test/fuzz/cells.c test/fuzz/driver.c test/fuzz/fabric.c \
	test/fuzz/fabric.h test/fuzz/fuzz.h prov_ofi/base/forkfd.c \
	prov_ofi/rdm/wire_fab.c prov_ofi/rdm/wire_fab.h \
	prov_ofi/rdm/wire_fab_arrive.c prov_ofi/rdm/wire_fab_bulk.c \
	prov_ofi/rdm/wire_fab_cells.c prov_ofi/rdm/wire_fab_open.c \
	prov_ofi/rdm/wire_fab_peers.c prov_ofi/rdm/wire_fab_probe.c prov_ofi/rdm/wire_fab_test.c
test_fuzz_driver_cells_CPPFLAGS = $(test_fuzz_driver_cm_wire_CPPFLAGS)
test_fuzz_driver_cells_LDFLAGS = -Wl,--wrap=clock_gettime
test_fuzz_driver_cells_LDADD = -lpthread

test_fuzz_driver_frames_SOURCES = test/fuzz/frames.c test/fuzz/driver.c test/fuzz/fuzz.h \
	prov_ofi/base/key_map.c \
	prov_ofi/rdm/mr.c prov_ofi/rdm/post.c prov_ofi/rdm/proto.c prov_ofi/rdm/proto_bulk.c \
	prov_ofi/rdm/proto_ext.c \
	prov_ofi/rdm/proto_read.c prov_ofi/rdm/proto_rx.c
test_fuzz_driver_frames_CPPFLAGS = $(test_fuzz_driver_cm_wire_CPPFLAGS)
test_fuzz_driver_frames_LDADD = -lpthread

FUZZ_TIME = 5
fuzz: test/fuzz/driver-cells test/fuzz/driver-cm_wire test/fuzz/driver-frames
	srcdir=$(srcdir) FUZZ_TIME=$(FUZZ_TIME) FUZZ_CPPFLAGS="$(LIBFABRIC_CFLAGS)" \
		$(srcdir)/test/fuzz/fuzz.sh

# The script compiles by itself, where there is a clang that has libFuzzer.
AM_TESTS_ENVIRONMENT = FUZZ_CPPFLAGS="$(LIBFABRIC_CFLAGS)"; export FUZZ_CPPFLAGS;

mostlyclean-local:
	rm -rf fuzz-new fuzz-crash
.PHONY: fuzz
