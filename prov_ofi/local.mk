# The provider: one source, compiled once per API version. Both libraries are called libdaplofi, so
# they are built in directories of their own and installed by hand: libtool would have them share
# a libdaplofi.la.
dofi_sources = \
	prov_ofi/addr.c \
	prov_ofi/agent.c prov_ofi/agent.h \
	prov_ofi/api_table.h \
	prov_ofi/api_wrap.h \
	prov_ofi/attr.c \
	prov_ofi/base/cancel.h \
	prov_ofi/base/clock.h \
	prov_ofi/base/eventfd.h \
	prov_ofi/base/forkfd.c prov_ofi/base/forkfd.h \
	prov_ofi/base/each.h \
	prov_ofi/base/key_map.c prov_ofi/base/key_map.h \
	prov_ofi/base/list.h \
	prov_ofi/base/lock.c prov_ofi/base/lock.h \
	prov_ofi/base/log.c prov_ofi/base/log.h \
	prov_ofi/base/near.c prov_ofi/base/near.h \
	prov_ofi/base/patience.h \
	prov_ofi/base/env.c prov_ofi/base/env.h \
	prov_ofi/base/param.c prov_ofi/base/param.h \
	prov_ofi/base/probe.h \
	prov_ofi/base/sink.c prov_ofi/base/sink.h \
	prov_ofi/base/slab.c prov_ofi/base/slab.h \
	prov_ofi/base/text.h \
	prov_ofi/base/timer.c prov_ofi/base/timer.h \
	prov_ofi/base/wire.h \
	prov_ofi/cm.h \
	prov_ofi/cm_brief.c \
	prov_ofi/cm_connect.c \
	prov_ofi/cm_cr.c \
	prov_ofi/cm_events.c \
	prov_ofi/cm_greet.c prov_ofi/cm_greet.h \
	prov_ofi/cm_proto.c prov_ofi/cm_proto.h \
	prov_ofi/cm_seal.c prov_ofi/cm_seal.h \
	prov_ofi/cm_sealed.c \
	prov_ofi/cm_sp.c \
	prov_ofi/cno.c prov_ofi/cno.h \
	prov_ofi/conn.c prov_ofi/conn.h \
	prov_ofi/cq.c prov_ofi/cq.h prov_ofi/cq_each.h \
	prov_ofi/dequeue.c \
	prov_ofi/device.c prov_ofi/device.h \
	prov_ofi/diag_cm.c prov_ofi/diag_cm.h \
	prov_ofi/device_cq.c \
	prov_ofi/dofi_api.h \
	prov_ofi/dto.c prov_ofi/dto.h \
	prov_ofi/dto_end.c \
	prov_ofi/dto_fab.c prov_ofi/dto_fab.h \
	prov_ofi/dto_post.h \
	prov_ofi/dto_quick.c \
	prov_ofi/ext_fab.c \
	prov_ofi/ep.c prov_ofi/ep.h \
	prov_ofi/ep_attr.c \
	prov_ofi/err.c prov_ofi/err.h \
	prov_ofi/evd.c prov_ofi/evd.h \
	prov_ofi/evd_models.c \
	prov_ofi/evd_models.h \
	prov_ofi/evd_wait.c \
	prov_ofi/fab.c prov_ofi/fab.h \
	prov_ofi/fab_lib.c prov_ofi/fab_lib.h \
	prov_ofi/host_probe.c prov_ofi/host_probe.h \
	prov_ofi/grants.h \
	prov_ofi/guard.c prov_ofi/guard.h \
	prov_ofi/ia.c prov_ofi/ia.h \
	prov_ofi/key_table.c prov_ofi/key_table.h \
	prov_ofi/lmr_table.c prov_ofi/lmr_table.h \
	prov_ofi/mem_check.c \
	prov_ofi/mr.c prov_ofi/mr.h \
	prov_ofi/netif.c prov_ofi/netif.h \
	prov_ofi/obj.c prov_ofi/obj.h \
	prov_ofi/outage.c prov_ofi/outage.h \
	prov_ofi/pieces.c prov_ofi/pieces.h \
	prov_ofi/progress.c prov_ofi/progress.h \
	prov_ofi/provider.c \
	prov_ofi/rdm/cm.c prov_ofi/rdm/cm.h prov_ofi/rdm/cm_int.h \
	prov_ofi/rdm/cm_conn.c \
	prov_ofi/rdm/cm_dial.c \
	prov_ofi/rdm/cm_route.c \
	prov_ofi/rdm/inbox.c prov_ofi/rdm/inbox.h \
	prov_ofi/rdm/cm_end.c \
	prov_ofi/rdm/cm_listen.c \
	prov_ofi/rdm/cm_prove.c \
	prov_ofi/rdm/cm_stall.c \
	prov_ofi/rdm/cm_secret.c prov_ofi/rdm/cm_secret.h \
	prov_ofi/rdm/cm_sock.c \
	prov_ofi/rdm/cm_trust.c \
	prov_ofi/rdm/cm_wire.c prov_ofi/rdm/cm_wire.h \
	prov_ofi/rdm/cq.c \
	prov_ofi/rdm/cq_look.c prov_ofi/rdm/cq_look.h \
	prov_ofi/rdm/cq_signal.c prov_ofi/rdm/cq_signal.h \
	prov_ofi/rdm/ep.c \
	prov_ofi/rdm/eq.c \
	prov_ofi/rdm/fabric.c \
	prov_ofi/rdm/foreign.h \
	prov_ofi/rdm/frame.h \
	prov_ofi/rdm/iov.h \
	prov_ofi/rdm/lock.h \
	prov_ofi/rdm/mr.c \
	prov_ofi/rdm/pair.c prov_ofi/rdm/pair.h \
	prov_ofi/rdm/pair_bulk.c \
	prov_ofi/rdm/pair_share.c \
	prov_ofi/rdm/pair_cm.c \
	prov_ofi/rdm/pair_link.c \
	prov_ofi/rdm/pair_open.c \
	prov_ofi/rdm/pair_recv.c \
	prov_ofi/rdm/pair_send.c \
	prov_ofi/rdm/pair_sock.c \
	prov_ofi/rdm/pep.c \
	prov_ofi/rdm/post.c \
	prov_ofi/rdm/proto.c prov_ofi/rdm/proto.h \
	prov_ofi/rdm/proto_bulk.c \
	prov_ofi/rdm/proto_ext.c \
	prov_ofi/rdm/proto_read.c \
	prov_ofi/rdm/proto_rx.c \
	prov_ofi/rdm/rdm.h \
	prov_ofi/rdm/ring.h \
	prov_ofi/rdm/shm_pull.c prov_ofi/rdm/shm_pull.h \
	prov_ofi/rdm/srx.c \
	prov_ofi/rdm/wait.h \
	prov_ofi/rdm/wire_fab.c prov_ofi/rdm/wire_fab.h \
	prov_ofi/rdm/wire_fab_arrive.c \
	prov_ofi/rdm/wire_fab_bulk.c \
	prov_ofi/rdm/wire_fab_cells.c \
	prov_ofi/rdm/wire_fab_open.c \
	prov_ofi/rdm/wire_fab_probe.c \
	prov_ofi/rdm/wire_fab_peers.c \
	prov_ofi/rdm/wire_fab_test.c \
	prov_ofi/rdm/wire_shm.c \
	prov_ofi/recv_count.c \
	prov_ofi/rmr.c prov_ofi/rmr.h \
	prov_ofi/srq.c prov_ofi/srq.h \
	prov_ofi/srq_cq.c \
	prov_ofi/tag.c prov_ofi/tag.h \
	prov_ofi/trace.c prov_ofi/trace.h \
	prov_ofi/trace_args.def \
	prov_ofi/trace_calls.c prov_ofi/trace_calls.h \
	prov_ofi/trace_show.c \
	prov_ofi/wake.h \
	prov_ofi/watch.c prov_ofi/watch.h \
	prov_ofi/why.h prov_ofi/why_fab.c prov_ofi/why_mem.c prov_ofi/why_port.c \
	prov_ofi/word.c prov_ofi/word.h \
	prov_ofi/work.c prov_ofi/work.h

dofi_cppflags = $(AM_CPPFLAGS) $(PROBE_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
# nodelete: handles kept beyond the last close, and threads on their way out, find code.
dofi_ldflags = $(AM_LDFLAGS) -module -avoid-version -rpath $(libdir) -Wl,-z,nodelete \
	-Wl,--version-script=$(top_srcdir)/prov_ofi/libdaplofi.map

noinst_LTLIBRARIES += prov_ofi/dat1/libdaplofi.la prov_ofi/dat2/libdaplofi.la

prov_ofi_dat1_libdaplofi_la_SOURCES = $(dofi_sources) prov_ofi/api_12.c \
	prov_ofi/trace_12.c
prov_ofi_dat1_libdaplofi_la_CPPFLAGS = $(dofi_cppflags) -DDOFI_API=12
prov_ofi_dat1_libdaplofi_la_LDFLAGS = $(dofi_ldflags) -shrext .so.1
prov_ofi_dat1_libdaplofi_la_LIBADD = libdat.la
prov_ofi_dat1_libdaplofi_la_DEPENDENCIES = libdat.la prov_ofi/libdaplofi.map

prov_ofi_dat2_libdaplofi_la_SOURCES = $(dofi_sources) prov_ofi/api_20.c \
	prov_ofi/trace_20.c
prov_ofi_dat2_libdaplofi_la_CPPFLAGS = $(dofi_cppflags) -DDOFI_API=20
prov_ofi_dat2_libdaplofi_la_LDFLAGS = $(dofi_ldflags) -shrext .so.2
prov_ofi_dat2_libdaplofi_la_LIBADD = libdat2.la
prov_ofi_dat2_libdaplofi_la_DEPENDENCIES = libdat2.la prov_ofi/libdaplofi.map

EXTRA_DIST += prov_ofi/libdaplofi.map

INSTALL_EXEC_TARGETS += install-provider
UNINSTALL_TARGETS += uninstall-provider

install-provider: install-libLTLIBRARIES
	$(MKDIR_P) "$(DESTDIR)$(libdir)"
	for v in 1 2; do \
		$(LIBTOOL) $(AM_LIBTOOLFLAGS) --mode=install $(INSTALL) \
			prov_ofi/dat$$v/libdaplofi.la "$(DESTDIR)$(libdir)" || exit 1; \
	done
	rm -f "$(DESTDIR)$(libdir)/libdaplofi.la"

uninstall-provider:
	rm -f "$(DESTDIR)$(libdir)/libdaplofi.so.1" "$(DESTDIR)$(libdir)/libdaplofi.so.2"
