# dat_top: reads the counters of processes; dat_info -c uses the same sources.
bin_PROGRAMS += tools/top/dat_top
dist_man1_MANS += man1/dat_top.1

top_sources = \
	prov_ofi/base/counter_file.h \
	prov_ofi/base/counter_slots.h \
	prov_ofi/base/counters.def \
	tools/top/rows.c \
	tools/top/show.c \
	tools/top/snapshot.c \
	tools/top/tcp.c \
	tools/top/top.h
tools_top_dat_top_SOURCES = $(top_sources) tools/top/main.c
tools_top_dat_top_CPPFLAGS = -I$(top_builddir) -I$(top_srcdir)/prov_ofi $(AM_CPPFLAGS)
