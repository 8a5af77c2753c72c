# dat_info: libdat's own registry code, once per API version and under names of its own; the
# libraries themselves are loaded at run time, in child processes.
bin_PROGRAMS += tools/info/dat_info
noinst_LTLIBRARIES += tools/info/libapi1.la tools/info/libapi2.la

info_api_sources = \
	src/builtins.def \
	src/conf.c src/conf.h \
	src/dati_api.h \
	src/diag.h \
	src/key.h \
	src/rank.c src/rank.h \
	src/static.c src/static.h \
	tools/info/api.h \
	tools/info/attr_api.c \
	tools/info/calls_report.c \
	tools/info/calls_result.c \
	tools/info/calls_run.h \
	tools/info/calls_run_conn.c \
	tools/info/calls_run_data.c \
	tools/info/calls_run_objects.c \
	tools/info/memory.h \
	tools/info/names.h \
	tools/info/open_api.c \
	tools/info/entries.h \
	tools/info/registry_api.c \
	tools/info/facts.h
info_api_cppflags = -I$(top_builddir) -I$(top_srcdir)/tools/info $(dati_cppflags) \
	-include $(top_srcdir)/tools/info/names.h

tools_info_libapi1_la_SOURCES = $(info_api_sources)
tools_info_libapi1_la_CPPFLAGS = $(info_api_cppflags) -DDAT_API_MAJOR=1
tools_info_libapi2_la_SOURCES = $(info_api_sources) \
	tools/info/calls_run_coll.c \
	tools/info/calls_run_ib.c tools/info/calls_run_ib.h
tools_info_libapi2_la_CPPFLAGS = $(info_api_cppflags) -DDAT_API_MAJOR=2

tools_info_dat_info_SOURCES = \
	prov_ofi/base/log.h \
	prov_ofi/base/edit_distance.c prov_ofi/base/edit_distance.h \
	prov_ofi/base/env.c prov_ofi/base/env.h prov_ofi/base/fork_lock.c prov_ofi/base/fork_lock.h \
	prov_ofi/base/param.c prov_ofi/base/param.h \
	tools/info/api_table.h \
	tools/info/attempt.c \
	tools/info/calls.c tools/info/calls.h \
	tools/info/calls_rows.c \
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
	tools/info/text.c tools/info/text.h tools/utf8.h \
	$(top_sources)
tools_info_dat_info_CPPFLAGS = -I$(top_builddir) -I$(top_srcdir)/tools -I$(top_srcdir)/prov_ofi $(AM_CPPFLAGS) \
	$(LIBFABRIC_CFLAGS)
tools_info_dat_info_LDADD = tools/info/libapi1.la tools/info/libapi2.la


# The names of all calls, from the lists that libdat and the headers have.
call_lists = $(top_srcdir)/src/libdat.map $(top_srcdir)/src/libdat2.map \
	$(top_srcdir)/include/dat2/dat_ib_extensions.h \
	$(top_srcdir)/include/dat2/dat_ib_collectives.h
call_names = tools/info/call_names.h
$(call_names): tools/info/call_names.awk $(call_lists)
	$(AM_V_GEN)$(MKDIR_P) tools/info && \
	LC_ALL=C $(AWK) -f $(top_srcdir)/tools/info/call_names.awk $(call_lists) >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += $(call_names)
CLEANFILES += $(call_names)
EXTRA_DIST += tools/info/call_names.awk
tools/info/dat_info-calls_rows.$(OBJEXT): $(call_names)
tools/info/libapi1_la-calls_report.lo tools/info/libapi1_la-calls_result.lo \
tools/info/libapi1_la-calls_run_conn.lo: $(call_names)
tools/info/libapi1_la-calls_run_data.lo tools/info/libapi1_la-calls_run_objects.lo: $(call_names)
tools/info/libapi2_la-calls_report.lo tools/info/libapi2_la-calls_result.lo \
tools/info/libapi2_la-calls_run_conn.lo: $(call_names)
tools/info/libapi2_la-calls_run_data.lo tools/info/libapi2_la-calls_run_objects.lo: $(call_names)
tools/info/libapi2_la-calls_run_coll.lo tools/info/libapi2_la-calls_run_ib.lo: $(call_names)

dist_man_MANS += man1/dat_info.1
