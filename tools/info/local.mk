# dat_info: libdat's own registry code, once per API version and under names of its own; the
# libraries themselves are loaded at run time, in child processes.
bin_PROGRAMS += tools/info/dat_info
noinst_LTLIBRARIES += tools/info/libapi1.la tools/info/libapi2.la

info_api_sources = \
	src/builtins.def \
	src/conf.c src/conf.h \
	src/dati_api.h \
	src/diag.h \
	src/registry.h \
	src/rank.c src/rank.h \
	src/static.c src/static.h \
	tools/info/api.h \
	tools/info/attr_api.c \
	tools/info/memory.h \
	tools/info/names.h \
	tools/info/open_api.c \
	tools/info/entries.h \
	tools/info/registry_api.c \
	tools/info/facts.h
info_api_cppflags = -I$(top_srcdir)/tools/info $(dati_cppflags) \
	-include $(top_srcdir)/tools/info/names.h

tools_info_libapi1_la_SOURCES = $(info_api_sources)
tools_info_libapi1_la_CPPFLAGS = $(info_api_cppflags) -DDAT_API_MAJOR=1
tools_info_libapi2_la_SOURCES = $(info_api_sources)
tools_info_libapi2_la_CPPFLAGS = $(info_api_cppflags) -DDAT_API_MAJOR=2

tools_info_dat_info_SOURCES = \
	prov_ofi/base/log.h \
	prov_ofi/base/edit_distance.c prov_ofi/base/edit_distance.h \
	prov_ofi/base/env.c prov_ofi/base/env.h \
	prov_ofi/base/param.c prov_ofi/base/param.h \
	tools/info/api_table.h \
	tools/info/attempt.c \
	tools/info/clean.c \
	tools/info/counters.c \
	tools/info/diagnose.c \
	tools/info/fabrics.c tools/info/fabrics.h \
	tools/info/generate.c \
	tools/info/info.h \
	tools/info/json.c tools/info/json.h \
	tools/info/libfabric.c tools/info/libfabric.h \
	tools/info/list.c \
	tools/info/main.c \
	tools/info/memory.c tools/info/memory.h \
	tools/info/netifs.c \
	tools/info/probe.c tools/info/probe.h \
	tools/info/providers.c \
	tools/info/report.c \
	tools/info/entries.c tools/info/entries.h \
	tools/info/settings.c \
	tools/info/show.c \
	tools/info/steps.c tools/info/steps.h \
	tools/info/facts.c tools/info/facts.h \
	tools/info/text.c tools/info/text.h \
	$(top_sources)
tools_info_dat_info_CPPFLAGS = -I$(top_builddir) -I$(top_srcdir)/tools -I$(top_srcdir)/prov_ofi $(AM_CPPFLAGS) \
	$(LIBFABRIC_CFLAGS)
tools_info_dat_info_LDADD = tools/info/libapi1.la tools/info/libapi2.la

dist_man_MANS += man1/dat_info.1
