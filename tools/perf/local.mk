# dat_perf: libfabric, for its raw twin, is loaded at run time as the provider does it.
bin_PROGRAMS += tools/perf/dat_perf

tools_perf_dat_perf_SOURCES = \
	tools/perf/cases.c \
	tools/perf/check.c \
	tools/perf/control.c \
	tools/perf/fabric.c \
	tools/perf/fabric.h \
	tools/perf/flow.c \
	tools/perf/flow.h \
	tools/perf/help.c \
	tools/perf/latency.c \
	tools/perf/layer.h \
	tools/perf/main.c \
	tools/perf/memory.c \
	tools/perf/options.c \
	tools/perf/pair.c \
	tools/perf/parent.c \
	tools/perf/pattern.c \
	tools/perf/pattern_messages.c \
	tools/perf/pattern_queues.c \
	tools/perf/pdat.c \
	tools/perf/pdat.h \
	tools/perf/pdat_cm.c \
	tools/perf/pdat_data.c \
	tools/perf/pdat_hub.c \
	tools/perf/perf.h \
	tools/perf/plan.c \
	tools/perf/plot.c \
	tools/perf/proc.c \
	tools/perf/proc.h \
	tools/perf/progress.c \
	tools/perf/queue.c \
	tools/perf/raw.c \
	tools/perf/raw.h \
	tools/perf/raw_cm.c \
	tools/perf/raw_data.c \
	tools/perf/raw_hub.c \
	tools/perf/report.c \
	tools/perf/report.h \
	tools/perf/report_data.c \
	tools/perf/report_table.c \
	tools/perf/selfloop.c \
	tools/perf/serve.c \
	tools/perf/session.c \
	tools/perf/session.h \
	tools/perf/stats.c \
	tools/perf/stream.c \
	tools/perf/transport.h \
	tools/perf/tdat.h \
	tools/perf/transport_dat.c \
	tools/perf/transport_dat_long.c \
	tools/perf/transport_dat_post.c \
	tools/perf/transport_dat_ring.c \
	tools/perf/transport_shm.c \
	tools/perf/transport_sockets.c \
	tools/perf/exchange.c \
	tools/perf/exchange.h \
	tools/perf/args.c \
	tools/perf/args.h \
	tools/perf/worker.c \
	tools/perf/worker.h
tools_perf_dat_perf_CPPFLAGS = -D_GNU_SOURCE -I$(top_builddir) $(AM_CPPFLAGS) $(LIBFABRIC_CFLAGS)
tools_perf_dat_perf_LDADD = libdat2.la -lm

dist_man_MANS += man1/dat_perf.1
EXTRA_DIST += tools/perf/instr.sh
