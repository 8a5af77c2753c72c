# dat_run: starts programs over our libraries, and loads them to probe whether a fabric opens.
bin_PROGRAMS += tools/run/dat_run
dist_man1_MANS += man1/dat_run.1

tools_run_dat_run_SOURCES = \
	tools/run/compare.c \
	tools/run/fabric.c \
	tools/run/judge.c \
	tools/run/library.c \
	tools/run/listen.c \
	tools/run/machine.c \
	tools/run/main.c \
	tools/run/options.c \
	tools/run/place.c \
	tools/run/probe.c \
	tools/run/proc.c \
	tools/run/proc.h \
	tools/run/report.c \
	tools/run/run.h \
	tools/run/text.c \
	tools/run/text.h tools/utf8.h \
	tools/run/trial.c \
	tools/run/usage.c
tools_run_dat_run_CPPFLAGS = -D_GNU_SOURCE -I$(top_builddir) -I$(top_srcdir)/tools $(AM_CPPFLAGS) \
	-DRUN_BINDIR='"$(bindir)"' -DRUN_LIBDIR='"$(libdir)"'
