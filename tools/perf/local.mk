# dat_perf: libfabric, for its raw twin, is loaded at run time as the provider does it.
bin_PROGRAMS += tools/perf/dat_perf

tools_perf_dat_perf_SOURCES = \
	tools/perf/layer.h \
	tools/perf/main.c \
	tools/perf/memory.c \
	tools/perf/options.c \
	tools/perf/output.c \
	tools/perf/pair.c \
	tools/perf/pattern.c \
	tools/perf/pdat.c \
	tools/perf/pdat.h \
	tools/perf/pdat_cm.c \
	tools/perf/pdat_data.c \
	tools/perf/perf.h \
	tools/perf/proc.c \
	tools/perf/proc.h \
	tools/perf/raw.c \
	tools/perf/raw.h \
	tools/perf/raw_cm.c \
	tools/perf/raw_data.c \
	tools/perf/selfloop.c \
	tools/perf/session.c \
	tools/perf/session.h \
	tools/perf/stats.c
tools_perf_dat_perf_CPPFLAGS = -D_GNU_SOURCE -I$(top_builddir) $(AM_CPPFLAGS) $(LIBFABRIC_CFLAGS)
tools_perf_dat_perf_LDADD = libdat2.la -lm

EXTRA_DIST += tools/perf/instr.sh
