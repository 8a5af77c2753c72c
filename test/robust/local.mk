# Tests with several processes: death, hostile peers, scale, idle cost, both API versions at once.
# Each program writes its own dat.conf and watches its own time; see test/robust/rlib.h.
robust_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE -DRL_BUILD='"$(abs_top_builddir)"' \
	-I$(top_srcdir)/test/robust -I$(top_srcdir)/prov_ofi
# Run in place: no wrapper scripts, so that a debugger can attach to a player.
robust_ldflags = $(AM_LDFLAGS) -no-install
robust_libs2 = test/robust/librdat2.la test/robust/librobust.la libdat2.la -lpthread
robust_libs1 = test/robust/librdat1.la test/robust/librobust.la libdat.la -lpthread

check_LTLIBRARIES += test/robust/librobust.la test/robust/librdat1.la test/robust/librdat2.la

test_robust_librobust_la_SOURCES = \
	test/robust/rlib.c test/robust/rlib.h \
	test/robust/rmain.c test/robust/rmain.h \
	test/robust/rproc.c \
	test/lib/delay.c test/lib/delay.h
test_robust_librobust_la_CPPFLAGS = $(robust_cppflags)

robust_rdat = test/robust/rdat.c test/robust/rdat.h test/robust/rledger.c
test_robust_librdat1_la_SOURCES = $(robust_rdat)
test_robust_librdat1_la_CPPFLAGS = $(robust_cppflags) -DRL_API=1
test_robust_librdat2_la_SOURCES = $(robust_rdat)
test_robust_librdat2_la_CPPFLAGS = $(robust_cppflags) -DRL_API=2

robust_tests = \
	test/robust/garbage \
	test/robust/bad_listener \
	test/robust/flood \
	test/robust/imposter \
	test/robust/footprint \
	test/robust/fi_settings \
	test/robust/exposed \
	test/robust/many \
	test/robust/share \
	test/robust/unasked \
	test/robust/mixed-20 \
	test/robust/progress \
	test/robust/changes \
	test/robust/wakes \
	test/robust/delivery \
	test/robust/signals \
	test/robust/soak \
	test/robust/srqstress
robust_long_tests = test/robust/kill test/robust/idle

# peers is for shm, above all: opening hundreds of adapters over tcp takes longer than all else
# here.
check_PROGRAMS += $(robust_tests) $(robust_long_tests) test/robust/mixed-12 test/robust/peers
TESTS += test/robust/short.sh
long_tests += test/robust/long.sh test/robust/chaos.sh
EXTRA_DIST += test/robust/chaos.sh test/robust/soak.sh test/robust/long.sh test/robust/serial.sh test/robust/short.sh

test_robust_kill_SOURCES = test/robust/kill.c test/robust/kill.h test/robust/kill_play.c
test_robust_kill_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_kill_LDFLAGS = $(robust_ldflags)
test_robust_kill_LDADD = $(robust_libs2)

test_robust_garbage_SOURCES = test/robust/garbage.c test/robust/attack.c test/robust/attack.h \
	test/robust/rfab.c test/robust/rfab.h
test_robust_garbage_CPPFLAGS = $(robust_cppflags) $(LIBFABRIC_CFLAGS) -DRL_API=2
test_robust_garbage_LDFLAGS = $(robust_ldflags)
test_robust_garbage_LDADD = $(robust_libs2)

test_robust_bad_listener_SOURCES = test/robust/bad_listener.c test/robust/attack.c test/robust/attack.h
test_robust_bad_listener_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_bad_listener_LDFLAGS = $(robust_ldflags)
test_robust_bad_listener_LDADD = $(robust_libs2)

test_robust_flood_SOURCES = test/robust/flood.c test/robust/attack.c test/robust/attack.h
test_robust_flood_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_flood_LDFLAGS = $(robust_ldflags)
test_robust_flood_LDADD = $(robust_libs2)

test_robust_imposter_SOURCES = test/robust/imposter.c
test_robust_imposter_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_imposter_LDFLAGS = $(robust_ldflags)
test_robust_imposter_LDADD = $(robust_libs2)

test_robust_footprint_SOURCES = test/robust/footprint.c
test_robust_footprint_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_footprint_LDFLAGS = $(robust_ldflags)
test_robust_footprint_LDADD = $(robust_libs2)

test_robust_fi_settings_SOURCES = test/robust/fi_settings.c
test_robust_fi_settings_CPPFLAGS = $(robust_cppflags) $(LIBFABRIC_CFLAGS) -DRL_API=2
test_robust_fi_settings_LDFLAGS = $(robust_ldflags)
test_robust_fi_settings_LDADD = $(robust_libs2)

test_robust_exposed_SOURCES = test/robust/exposed.c
test_robust_exposed_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_exposed_LDFLAGS = $(robust_ldflags)
test_robust_exposed_LDADD = $(robust_libs2)

test_robust_many_SOURCES = test/robust/many.c
test_robust_many_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_many_LDFLAGS = $(robust_ldflags)
test_robust_many_LDADD = $(robust_libs2)

test_robust_share_SOURCES = test/robust/share.c
test_robust_share_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_share_LDFLAGS = $(robust_ldflags)
test_robust_share_LDADD = $(robust_libs2)

test_robust_unasked_SOURCES = test/robust/unasked.c
test_robust_unasked_CPPFLAGS = $(robust_cppflags) -DRL_API=2
# The program's sendmsg is found before that of the C library.
test_robust_unasked_LDFLAGS = $(robust_ldflags) -Wl,--export-dynamic
test_robust_unasked_LDADD = $(robust_libs2) -ldl

test_robust_peers_SOURCES = test/robust/peers.c
test_robust_peers_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_peers_LDFLAGS = $(robust_ldflags)
test_robust_peers_LDADD = $(robust_libs2)

test_robust_idle_SOURCES = test/robust/idle.c
test_robust_idle_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_idle_LDFLAGS = $(robust_ldflags)
test_robust_idle_LDADD = $(robust_libs2)

test_robust_mixed_12_SOURCES = test/robust/mixed.c
test_robust_mixed_12_CPPFLAGS = $(robust_cppflags) -DRL_API=1
test_robust_mixed_12_LDFLAGS = $(robust_ldflags)
test_robust_mixed_12_LDADD = $(robust_libs1)

test_robust_mixed_20_SOURCES = test/robust/mixed.c
test_robust_mixed_20_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_mixed_20_LDFLAGS = $(robust_ldflags)
test_robust_mixed_20_LDADD = $(robust_libs2)
EXTRA_test_robust_mixed_20_DEPENDENCIES = test/robust/mixed-12$(EXEEXT)

test_robust_changes_SOURCES = test/robust/changes.c
test_robust_changes_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_changes_LDFLAGS = $(robust_ldflags)
test_robust_changes_LDADD = $(robust_libs2)

test_robust_wakes_SOURCES = test/robust/wakes.c
test_robust_wakes_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_wakes_LDFLAGS = $(robust_ldflags)
test_robust_wakes_LDADD = $(robust_libs2)

test_robust_progress_SOURCES = test/robust/progress.c
test_robust_progress_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_progress_LDFLAGS = $(robust_ldflags)
test_robust_progress_LDADD = $(robust_libs2)

test_robust_delivery_SOURCES = test/robust/delivery.c
test_robust_delivery_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_delivery_LDFLAGS = $(robust_ldflags)
test_robust_delivery_LDADD = $(robust_libs2)

# Loads the library itself, with dlopen.
test_robust_signals_SOURCES = test/robust/signals.c
test_robust_signals_CPPFLAGS = $(robust_cppflags)
test_robust_signals_LDFLAGS = $(robust_ldflags)
test_robust_signals_LDADD = test/robust/librobust.la -lpthread

test_robust_soak_SOURCES = test/robust/soak.c test/robust/soak.h test/robust/soak_chaos.c \
	test/robust/soak_dto.c test/robust/soak_ep.c test/robust/soak_shim.c \
	test/robust/soak_window.c test/fabrics/net.c test/fabrics/net.h
test_robust_soak_CPPFLAGS = $(robust_cppflags) -DRL_API=2
# The program's functions are found before those of the C library and of sanitizers.
test_robust_soak_LDFLAGS = $(robust_ldflags) -Wl,--export-dynamic
test_robust_soak_LDADD = $(robust_libs2)

test_robust_srqstress_SOURCES = test/robust/srqstress.c test/robust/srqstress.h \
	test/robust/srqstress_hub.c test/robust/srqstress_peer.c
test_robust_srqstress_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_robust_srqstress_LDFLAGS = $(robust_ldflags)
test_robust_srqstress_LDADD = $(robust_libs2)

# For as long as SOAK_SECONDS, over each of SOAK_FABRICS: see soak.sh.
soak: all
	$(MAKE) $(AM_MAKEFLAGS) test/robust/soak
	SOAK_SECONDS=$(SOAK_SECONDS) SOAK_FABRICS="$(SOAK_FABRICS)" SOAK_SEED=$(SOAK_SEED) \
		SOAK_OPTIONS="$(SOAK_OPTIONS)" $(srcdir)/test/robust/soak.sh
.PHONY: soak
