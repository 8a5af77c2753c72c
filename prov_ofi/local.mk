# The provider: one source. What does not depend on the version of the API is compiled once
# (libdaplofi-common), the rest once per version. Both libraries are called libdaplofi, so they are
# built in directories of their own and installed by hand: libtool would have them share a
# libdaplofi.la.
dofi_common_sources = \
	prov_ofi/base/addr.c prov_ofi/base/addr.h \
	prov_ofi/base/be_bytes.h \
	prov_ofi/base/cancel.h \
	prov_ofi/base/clock.h \
	prov_ofi/base/count.h \
	prov_ofi/base/counter_sweep.c \
	prov_ofi/base/debug.c prov_ofi/base/debug.h \
	prov_ofi/base/edit_distance.c prov_ofi/base/edit_distance.h \
	prov_ofi/base/env.c prov_ofi/base/env.h \
	prov_ofi/base/error_text.c prov_ofi/base/error_text.h \
	prov_ofi/base/eventfd.h \
	prov_ofi/base/file_size.h \
	prov_ofi/base/fork_lock.c prov_ofi/base/fork_lock.h \
	prov_ofi/base/forkfd.c prov_ofi/base/forkfd.h \
	prov_ofi/base/grace_timer.h \
	prov_ofi/base/grow.h \
	prov_ofi/base/inline.h \
	prov_ofi/base/key_map.c prov_ofi/base/key_map.h \
	prov_ofi/base/list.h \
	prov_ofi/base/lock.c prov_ofi/base/lock.h \
	prov_ofi/base/log.c prov_ofi/base/log.h \
	prov_ofi/base/log_file.c prov_ofi/base/log_file.h \
	prov_ofi/base/param.c prov_ofi/base/param.h \
	prov_ofi/base/port_range.c prov_ofi/base/port_range.h \
	prov_ofi/base/probe.h \
	prov_ofi/base/slab.c prov_ofi/base/slab.h \
	prov_ofi/base/text.h \
	prov_ofi/base/thread.c prov_ofi/base/thread.h \
	prov_ofi/base/timer.c prov_ofi/base/timer.h \
	prov_ofi/dgram/dgram.c prov_ofi/dgram/dgram.h \
	prov_ofi/diag/diag.h prov_ofi/diag/diag_fabric.c prov_ofi/diag/diag_memory.c prov_ofi/diag/diag_port.c \
	prov_ofi/fabric/fab_info.c prov_ofi/fabric/fab_info.h \
	prov_ofi/fabric/fab_lib.c prov_ofi/fabric/fab_lib.h \
	prov_ofi/fabric/netif.c prov_ofi/fabric/netif.h \
	prov_ofi/fabric/port_counters.c prov_ofi/fabric/port_counters.h \
	prov_ofi/fabrics/verbs/device_events.c prov_ofi/fabrics/verbs/device_events.h \
	prov_ofi/fabrics/verbs/device_port.c \
	prov_ofi/fabrics/verbs/host_probe.c prov_ofi/fabrics/verbs/host_probe.h \
	prov_ofi/msgep/cm/cm.h prov_ofi/msgep/cm/cm_int.h \
	prov_ofi/msgep/cm/cm_client.c \
	prov_ofi/msgep/cm/cm_conn.c \
	prov_ofi/msgep/cm/cm_dial.c \
	prov_ofi/msgep/cm/cm_end.c \
	prov_ofi/msgep/cm/cm_half_open.c \
	prov_ofi/msgep/cm/cm_life.c \
	prov_ofi/msgep/cm/cm_listen.c \
	prov_ofi/msgep/cm/cm_loop.c \
	prov_ofi/msgep/cm/cm_msg.c prov_ofi/msgep/cm/cm_msg.h \
	prov_ofi/msgep/cm/cm_object.c \
	prov_ofi/msgep/cm/cm_params.c \
	prov_ofi/msgep/cm/cm_path_check.c \
	prov_ofi/msgep/cm/cm_peer_cred.c \
	prov_ofi/msgep/cm/cm_place.c \
	prov_ofi/msgep/cm/cm_request.c \
	prov_ofi/msgep/cm/cm_route.c \
	prov_ofi/msgep/cm/cm_route_recv.c \
	prov_ofi/msgep/cm/cm_sock.c \
	prov_ofi/msgep/cm/cm_stall.c \
	prov_ofi/msgep/cm/cm_text.c \
	prov_ofi/msgep/cm/inbox.c prov_ofi/msgep/cm/inbox.h \
	prov_ofi/msgep/fid/fid_cq.c \
	prov_ofi/msgep/fid/fid_ep.c \
	prov_ofi/msgep/fid/fid_eq.c \
	prov_ofi/msgep/fid/fid_fabric.c \
	prov_ofi/msgep/fid/fid_pep.c \
	prov_ofi/msgep/frame.h \
	prov_ofi/msgep/inner.c prov_ofi/msgep/inner.h \
	prov_ofi/msgep/iov.h \
	prov_ofi/msgep/msgep.h \
	prov_ofi/msgep/object/cq_bind.c \
	prov_ofi/msgep/object/cq_eps.h \
	prov_ofi/msgep/object/cq_poll.c prov_ofi/msgep/object/cq_poll.h \
	prov_ofi/msgep/object/cq_ready.c prov_ofi/msgep/ready.h \
	prov_ofi/msgep/object/cq_ring.c \
	prov_ofi/msgep/object/cq_touch.c \
	prov_ofi/msgep/object/ep_conn.c \
	prov_ofi/msgep/object/ep_end.c \
	prov_ofi/msgep/object/eq_events.c \
	prov_ofi/msgep/object/mr.c \
	prov_ofi/msgep/object/post.c \
	prov_ofi/msgep/object/proto.h \
	prov_ofi/msgep/object/proto_bulk.c \
	prov_ofi/msgep/object/proto_bulk_done.c \
	prov_ofi/msgep/object/proto_ext.c \
	prov_ofi/msgep/object/proto_frame.c \
	prov_ofi/msgep/object/proto_read.c \
	prov_ofi/msgep/object/proto_rx.c \
	prov_ofi/msgep/object/proto_tx.c prov_ofi/msgep/object/proto_tx.h \
	prov_ofi/msgep/object/srx.c \
	prov_ofi/msgep/pair/pair.h \
	prov_ofi/msgep/pair/pair_bulk.c \
	prov_ofi/msgep/pair/pair_carry.c \
	prov_ofi/msgep/pair/pair_cm.c \
	prov_ofi/msgep/pair/pair_conn.c \
	prov_ofi/msgep/pair/pair_end.c \
	prov_ofi/msgep/pair/pair_events.c \
	prov_ofi/msgep/pair/pair_int.h \
	prov_ofi/msgep/pair/pair_link.c \
	prov_ofi/msgep/pair/pair_message.c prov_ofi/msgep/pair/pair_message.h \
	prov_ofi/msgep/pair/pair_open.c \
	prov_ofi/msgep/pair/pair_poll.c \
	prov_ofi/msgep/pair/pair_post.c \
	prov_ofi/msgep/pair/pair_reap.c \
	prov_ofi/msgep/pair/pair_recv.c \
	prov_ofi/msgep/pair/pair_send.c \
	prov_ofi/msgep/pair/pair_share.c \
	prov_ofi/msgep/pair/pair_sock.c \
	prov_ofi/msgep/pair/pair_token.c \
	prov_ofi/msgep/pair/pair_transfer.c \
	prov_ofi/msgep/pair/pair_unsolicited.c prov_ofi/msgep/pair/pair_unsolicited.h \
	prov_ofi/msgep/pair/pair_work.c \
	prov_ofi/msgep/peer_memory.h \
	prov_ofi/msgep/rdm/rdm.h \
	prov_ofi/msgep/rdm/rdm_constrained.c \
	prov_ofi/msgep/rdm/rdm_end.c \
	prov_ofi/msgep/rdm/rdm_gap.c prov_ofi/msgep/rdm/rdm_int.h \
	prov_ofi/msgep/rdm/rdm_large.c \
	prov_ofi/msgep/rdm/rdm_life.c \
	prov_ofi/msgep/rdm/rdm_open.c \
	prov_ofi/msgep/rdm/rdm_ops.c \
	prov_ofi/msgep/rdm/rdm_owed.c \
	prov_ofi/msgep/rdm/rdm_packets.c \
	prov_ofi/msgep/rdm/rdm_peers.c \
	prov_ofi/msgep/rdm/rdm_probe.c \
	prov_ofi/msgep/rdm/rdm_recv.c \
	prov_ofi/msgep/rdm/rdm_send.c \
	prov_ofi/msgep/rdm/rdm_timer.c \
	prov_ofi/msgep/reply.h \
	prov_ofi/msgep/shm/shm_rings.c \
	prov_ofi/msgep/shm/shm_life.c \
	prov_ofi/msgep/shm/shm_pull.c \
	prov_ofi/msgep/shm/shm_ready.c prov_ofi/msgep/shm/shm.h \
	prov_ofi/msgep/tcp_socks.c prov_ofi/msgep/tcp_socks.h \
	prov_ofi/msgep/transport.h \
	prov_ofi/msgep/wait.h \
	prov_ofi/object/conn_id.c prov_ofi/object/conn_id.h \
	prov_ofi/object/key_table.c prov_ofi/object/key_table.h \
	prov_ofi/object/mem_check.c prov_ofi/object/mem_check.h \
	prov_ofi/proto/amo_proto.c prov_ofi/proto/amo_proto.h \
	prov_ofi/proto/cm_brief.c \
	prov_ofi/proto/cm_part.c prov_ofi/proto/cm_part.h \
	prov_ofi/proto/cm_proto.c prov_ofi/proto/cm_proto.h \
	prov_ofi/proto/cm_seal.c prov_ofi/proto/cm_seal.h \
	prov_ofi/proto/cm_secret.c prov_ofi/proto/cm_secret.h

# DOFI_API is the version; sources that need it, or headers of DAT.
dofi_sources = \
	prov_ofi/api/cancel_guard.c prov_ofi/api/cancel_guard.h \
	prov_ofi/api/ep_create.c prov_ofi/object/ep.h \
	prov_ofi/api/ep_attr.c \
	prov_ofi/api/evd_wait.c \
	prov_ofi/api/ia_open.c \
	prov_ofi/api/ia_attr.c \
	prov_ofi/api/provider.c \
	prov_ofi/api/provider_list.c prov_ofi/api/provider_list.h \
	prov_ofi/base/counter_file.c prov_ofi/base/counter_file.h \
	prov_ofi/base/counter_slots.h prov_ofi/base/counters.def \
	prov_ofi/base/counters.c prov_ofi/base/counters.h \
	prov_ofi/base/dat_error.c prov_ofi/base/dat_error.h \
	prov_ofi/base/dat_version.h \
	prov_ofi/cm/amo_listen.c prov_ofi/cm/amo_listen.h \
	prov_ofi/cm/cm.h \
	prov_ofi/cm/cm_accept.c \
	prov_ofi/cm/cm_arrive.c \
	prov_ofi/cm/cm_attempt.c \
	prov_ofi/cm/cm_connect.c \
	prov_ofi/cm/cm_cr.c prov_ofi/cm/cm_cr.h \
	prov_ofi/cm/cm_disconnect.c \
	prov_ofi/cm/cm_end.c \
	prov_ofi/cm/cm_events.c \
	prov_ofi/cm/cm_hello.c prov_ofi/cm/cm_hello.h \
	prov_ofi/cm/half_open.c prov_ofi/cm/half_open.h \
	prov_ofi/cm/cm_parts.h prov_ofi/cm/cm_parts_answer.c prov_ofi/cm/cm_parts_client.c \
	prov_ofi/cm/cm_parts_listener.c \
	prov_ofi/cm/cm_request.c \
	prov_ofi/cm/cm_sealed.c \
	prov_ofi/cm/cm_sp.c \
	prov_ofi/cm/cm_ud.c prov_ofi/cm/cm_ud_report.c \
	prov_ofi/cm/conn_open.c prov_ofi/object/conn.h \
	prov_ofi/cm/diag_cm.c prov_ofi/cm/diag_cm.h \
	prov_ofi/cm/ep_life.c \
	prov_ofi/cm/establish.c \
	prov_ofi/cm/outage.c prov_ofi/cm/outage.h \
	prov_ofi/data/amo_answer.c prov_ofi/data/amo.h prov_ofi/object/amo.h \
	prov_ofi/data/amo_post.c prov_ofi/data/amo_sock.c prov_ofi/data/amo_target.c \
	prov_ofi/data/cq.c prov_ofi/data/cq.h prov_ofi/data/cq_data.h \
	prov_ofi/data/dto.c prov_ofi/data/dto.h \
	prov_ofi/data/dto_event.c prov_ofi/data/dto_event.h \
	prov_ofi/data/dto_flush.c \
	prov_ofi/data/dto_general.c prov_ofi/data/dto_general.h \
	prov_ofi/data/dto_post.h \
	prov_ofi/data/dto_submit.c prov_ofi/data/dto_submit.h \
	prov_ofi/data/evd_dequeue.c \
	prov_ofi/data/fi_post.c prov_ofi/data/fi_post.h \
	prov_ofi/data/rmr_bind.c \
	prov_ofi/data/srq_calls.c prov_ofi/object/srq.h \
	prov_ofi/data/srq_cq.c prov_ofi/data/srq_cq.h \
	prov_ofi/data/srq_watermark.c \
	prov_ofi/data/ud_message.c prov_ofi/data/ud_message.h \
	prov_ofi/fabric/fab.c prov_ofi/fabric/fab.h prov_ofi/fabric/fab_ops.h \
	prov_ofi/fabrics/emulated/emulated.c prov_ofi/fabrics/emulated/emulated.h \
	prov_ofi/fabrics/fabrics.c prov_ofi/fabrics/fabrics.h \
	prov_ofi/fabrics/verbs/announce.c prov_ofi/fabrics/verbs/announce.h \
	prov_ofi/fabrics/verbs/cq_reservation.c \
	prov_ofi/fabrics/verbs/device.c prov_ofi/fabrics/verbs/device.h \
	prov_ofi/fabrics/verbs/device_calls.h prov_ofi/fabrics/verbs/device_mr.c \
	prov_ofi/fabrics/verbs/msg_prefix.c prov_ofi/fabrics/verbs/msg_prefix.h \
	prov_ofi/fabrics/verbs/siw_post.c prov_ofi/fabrics/verbs/siw_post.h \
	prov_ofi/fabrics/verbs/siw_reads.c prov_ofi/fabrics/verbs/siw_reads.h \
	prov_ofi/fabrics/verbs/split_rdma.c prov_ofi/fabrics/verbs/split_rdma.h \
	prov_ofi/fabrics/verbs/srq_stand_in.c prov_ofi/fabrics/verbs/srq_stand_in.h \
	prov_ofi/fabrics/verbs/verbs_ops.c \
	prov_ofi/object/agent.c prov_ofi/object/agent.h \
	prov_ofi/object/async_evd.c prov_ofi/object/async_evd.h \
	prov_ofi/object/cno.c prov_ofi/object/cno.h \
	prov_ofi/object/coll_handle.h \
	prov_ofi/object/deferred_work.c prov_ofi/object/deferred_work.h \
	prov_ofi/object/ep_attr.c prov_ofi/object/dto_slots.c \
	prov_ofi/object/ep_state.c prov_ofi/object/ep_state.h prov_ofi/object/ep_state.def \
	prov_ofi/object/evd.c prov_ofi/object/evd.h \
	prov_ofi/object/evd_models.c \
	prov_ofi/object/evd_push.c \
	prov_ofi/object/evd_models.h \
	prov_ofi/object/ia.h prov_ofi/object/ia_calls.c \
	prov_ofi/object/kinds.c prov_ofi/object/sp.h \
	prov_ofi/object/limits.h \
	prov_ofi/object/lmr_table.c prov_ofi/object/lmr_table.h \
	prov_ofi/object/mr.c prov_ofi/object/mr.h \
	prov_ofi/object/obj.c prov_ofi/object/obj.h \
	prov_ofi/object/progress_key.h \
	prov_ofi/object/progress_wakeup.c prov_ofi/object/progress_wakeup.h \
	prov_ofi/object/rmr.c prov_ofi/object/rmr.h \
	prov_ofi/object/ud.c prov_ofi/object/ud.h \
	prov_ofi/object/version.h \
	prov_ofi/progress/deferred_run.c \
	prov_ofi/progress/progress.c prov_ofi/progress/progress.h \
	prov_ofi/progress/progress_amo.c prov_ofi/progress/progress_amo.h \
	prov_ofi/progress/progress_cq.c prov_ofi/progress/progress_cq.h \
	prov_ofi/trace/trace.c prov_ofi/trace/trace.h \
	prov_ofi/trace/trace_args.def \
	prov_ofi/trace/trace_calls.c prov_ofi/trace/trace_calls.h \
	prov_ofi/trace/trace_event.c prov_ofi/trace/trace_show.h \
	prov_ofi/trace/trace_show.c

dofi_cppflags = $(AM_CPPFLAGS) $(PROBE_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
# nodelete: handles kept beyond the last close, and threads on their way out, find code.
dofi_ldflags = $(AM_LDFLAGS) -module -avoid-version -rpath $(libdir) -Wl,-z,nodelete \
	-Wl,--version-script=$(top_srcdir)/prov_ofi/libdaplofi.map

noinst_LTLIBRARIES += prov_ofi/libdaplofi-common.la \
	prov_ofi/dat1/libdaplofi.la prov_ofi/dat2/libdaplofi.la

prov_ofi_libdaplofi_common_la_SOURCES = $(dofi_common_sources)
prov_ofi_libdaplofi_common_la_CPPFLAGS = $(dofi_cppflags)

prov_ofi_dat1_libdaplofi_la_SOURCES = $(dofi_sources) prov_ofi/api/api_12.c \
	prov_ofi/object/version_12.c prov_ofi/trace/trace_12.c
prov_ofi_dat1_libdaplofi_la_CPPFLAGS = $(dofi_cppflags) -DDOFI_API=12
prov_ofi_dat1_libdaplofi_la_LDFLAGS = $(dofi_ldflags) -shrext .so.1
prov_ofi_dat1_libdaplofi_la_LIBADD = prov_ofi/libdaplofi-common.la libdat.la
prov_ofi_dat1_libdaplofi_la_DEPENDENCIES = prov_ofi/libdaplofi-common.la libdat.la \
	prov_ofi/libdaplofi.map

prov_ofi_dat2_libdaplofi_la_SOURCES = $(dofi_sources) prov_ofi/api/api_20.c prov_ofi/api/csp.c \
	prov_ofi/api/counter_calls.c prov_ofi/api/ext.h \
	prov_ofi/api/ha_related.c \
	prov_ofi/coll/coll.h prov_ofi/coll/coll_int.h \
	prov_ofi/coll/coll_alg.c prov_ofi/coll/coll_alg_reduce.c \
	prov_ofi/coll/coll_args.c prov_ofi/coll/coll_args.h prov_ofi/coll/coll_args_reduce.c \
	prov_ofi/coll/coll_call.c \
	prov_ofi/coll/coll_evd.c prov_ofi/coll/coll_fail.c prov_ofi/coll/coll_timer.c \
	prov_ofi/coll/coll_group.c prov_ofi/coll/coll_member.c \
	prov_ofi/coll/coll_op.c prov_ofi/coll/coll_open.c \
	prov_ofi/coll/coll_peer.c prov_ofi/coll/coll_peer_conn.c \
	prov_ofi/coll/coll_reduce.c prov_ofi/coll/coll_region.c \
	prov_ofi/coll/coll_request.c prov_ofi/coll/coll_run.c \
	prov_ofi/coll/coll_sched.c prov_ofi/coll/coll_sched.h \
	prov_ofi/coll/coll_settle.c \
	prov_ofi/coll/coll_wire.c prov_ofi/coll/coll_wire.h \
	prov_ofi/api/ext_query.c \
	prov_ofi/api/ext_ud.c \
	prov_ofi/object/version_20.c prov_ofi/object/version_20_ud.c prov_ofi/trace/trace_20.c
prov_ofi_dat2_libdaplofi_la_CPPFLAGS = $(dofi_cppflags) -DDOFI_API=20
prov_ofi_dat2_libdaplofi_la_LDFLAGS = $(dofi_ldflags) -shrext .so.2
prov_ofi_dat2_libdaplofi_la_LIBADD = prov_ofi/libdaplofi-common.la libdat2.la
prov_ofi_dat2_libdaplofi_la_DEPENDENCIES = prov_ofi/libdaplofi-common.la libdat2.la \
	prov_ofi/libdaplofi.map

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
