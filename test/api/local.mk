# The suites through the public API: one source for both versions of DAT.
EXTRA_DIST += test/api/skips.txt test/mutate.sh test/rules.md test/rules.sh

if HAVE_CUNIT
check_PROGRAMS += test/api/test-api-12 test/api/test-api-20 test/api/load-12 test/api/load-20
check_PROGRAMS += test/api/test-starve-12 test/api/test-starve-20
TESTS += test/rules.sh test/api/test-starve-20
# Sanitized builds run the suite of 1.2 over tcp+shm only (test/fabrics/api), and the allocations
# that fail in 2.0 only: the provider is one source.
if !SANITIZED
long_tests += test/api/test-api-12
TESTS += test/api/test-starve-12
endif

# The order of the files is that of the suites.
test_api_common = \
	test/api/api.h \
	test/api/events.c \
	test/api/main.c \
	test/api/rig.c \
	test/api/rig.h \
	test/api/srq_rig.c \
	test/api/srq_rig.h \
	test/api/t_ia.c \
	test/api/t_attr.c \
	test/api/t_misc.c \
	test/api/t_handles.c \
	test/api/t_pz.c \
	test/api/t_limits.c \
	test/api/t_lmr.c \
	test/api/t_lmr_sync.c \
	test/api/t_lmr_check.c test/api/t_lmr_maps.c \
	test/api/t_lmr_free.c \
	test/api/t_evd.c \
	test/api/t_evd_size.c \
	test/api/t_evd_clock.c test/api/t_evd_wait.c \
	test/api/t_cno.c \
	test/api/t_cno_agent.c \
	test/api/t_ep.c \
	test/api/t_ep_life.c \
	test/api/t_ep_modify.c \
	test/api/t_ep_state.c \
	test/api/t_sp.c \
	test/api/t_cm_connect.c test/api/t_qos.c test/api/t_ports.c \
	test/api/t_cm_grace.c \
	test/api/t_cm_lost.c \
	test/api/t_net.c \
	test/api/t_interface.c \
	test/api/t_cm_accept.c \
	test/api/t_cm_again.c \
	test/api/t_cm_private.c \
	test/api/secret_files.c test/api/secret_files.h \
	test/api/t_cm_secret.c \
	test/api/t_cm_secret_proxy.c \
	test/api/t_csp.c \
	test/api/t_disconnect.c test/api/t_end_time.c \
	test/api/t_dto.c \
	test/api/t_segments.c \
	test/api/t_dto_queue.c \
	test/api/t_look.c \
	test/api/t_dto_errors.c \
	test/api/t_dto_rules.c test/api/t_post_checks.c \
	test/api/t_rdma.c \
	test/api/t_rdma_mix.c \
	test/api/rmr.h test/api/window_rig.h \
	test/api/t_rmr.c \
	test/api/t_rmr_use.c test/api/t_rmr_random.c \
	test/api/t_rmr_dto.c \
	test/api/t_rmr_invalidate.c \
	test/api/t_flag_mixes.c test/api/t_evd_roles.c \
	test/api/t_flags.c \
	test/api/t_flush.c \
	test/api/t_order.c \
	test/api/t_order_across.c \
	test/api/t_srq.c \
	test/api/t_srq_ep.c \
	test/api/t_srq_use.c \
	test/api/t_srq_end.c \
	test/api/t_srq_wake.c \
	test/api/t_no_evd.c test/api/t_recv_count.c \
	test/api/t_fork.c test/api/t_closed_fds.c \
	test/api/calls_rig.c test/api/calls_rig.h test/api/calls_post.c test/api/t_calls.c \
	test/api/t_threads.c test/api/t_siw_post.c test/api/t_threads_ep.c test/api/t_waiters.c \
	test/api/t_cancel.c \
	test/api/t_unplug.c \
	test/api/t_process.c \
	test/api/t_legacy_life.c \
	test/api/t_legacy.c \
	test/api/t_legacy_data.c

test_api_cppflags = $(AM_CPPFLAGS) -DTEST_SKIPS='"$(abs_top_srcdir)/test/api/skips.txt"'

test_api_cppflags_12 = $(test_api_cppflags) -DDAT_TEST_API=12 -DDAT_TEST_VERSION='"1.2"' \
	-DTEST_PROVIDER='"$(abs_top_builddir)/prov_ofi/dat1/.libs/libdaplofi.so.1"' \
	-DTEST_LIBDAT='"$(abs_top_builddir)/.libs/libdat"' \
	-DTEST_LOADER='"$(abs_top_builddir)/test/api/load-12"'
test_api_cppflags_20 = $(test_api_cppflags) -DDAT_TEST_API=20 -DDAT_TEST_VERSION='"2.0"' \
	-DTEST_PROVIDER='"$(abs_top_builddir)/prov_ofi/dat2/.libs/libdaplofi.so.2"' \
	-DTEST_LIBDAT='"$(abs_top_builddir)/.libs/libdat2"' \
	-DTEST_LOADER='"$(abs_top_builddir)/test/api/load-20"'

# epoll_wait of t_look.c, clock_gettime of t_evd_clock.c and rdma_get_cm_event of t_cm_lost.c must stand before the C library's.
test_api_test_api_12_SOURCES = $(test_api_common)
test_api_test_api_12_CPPFLAGS = $(test_api_cppflags_12)
test_api_test_api_12_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
test_api_test_api_12_LDADD = libdattest.la libdat.la

# The extension is 2.0's alone.
test_api_test_api_20_SOURCES = $(test_api_common) test/api/ext.h test/api/t_ext.c \
	test/api/t_ext_srq.c \
	test/api/t_ext_atomic.c test/api/t_ext_amo.c test/api/t_counters.c test/api/t_counters_evd.c test/api/t_related.c \
	test/api/t_ext_query.c \
	test/api/coll_rig.c test/api/coll_rig.h \
	test/api/t_coll.c test/api/t_coll_close.c test/api/t_coll_data.c test/api/t_coll_look.c test/api/t_coll_proc.c \
	test/api/calls_ext.c \
	test/api/ud.h test/api/ud_rig.c test/api/t_ud.c test/api/t_ud_data.c
test_api_test_api_20_CPPFLAGS = $(test_api_cppflags_20)
test_api_test_api_20_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
test_api_test_api_20_LDADD = libdattest.la libdat2.la

# With an allocator of its own, which must stand before that of the libraries.
test_starve_sources = test/api/api.h test/api/events.c test/api/main.c test/api/rig.c \
	test/api/rig.h test/api/srq_rig.c test/api/srq_rig.h test/api/starve.c test/api/starve.h \
	test/api/t_starve.c
test_api_test_starve_12_SOURCES = $(test_starve_sources)
test_api_test_starve_12_CPPFLAGS = $(test_api_cppflags_12)
test_api_test_starve_12_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
test_api_test_starve_12_LDADD = libdattest.la libdat.la
test_api_test_starve_20_SOURCES = $(test_starve_sources)
test_api_test_starve_20_CPPFLAGS = $(test_api_cppflags_20)
test_api_test_starve_20_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
test_api_test_starve_20_LDADD = libdattest.la libdat2.la

# Linked with no DAT library: they load one themselves.
test_api_load_12_SOURCES = test/api/api.h test/api/load.c
test_api_load_12_CPPFLAGS = $(test_api_cppflags_12)
test_api_load_20_SOURCES = test/api/api.h test/api/load.c
test_api_load_20_CPPFLAGS = $(test_api_cppflags_20)
endif
