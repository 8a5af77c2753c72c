# libdat.so.1 (uDAPL 1.2) and libdat2.so.2 (uDAPL 2.0): one source, compiled once per API.
dati_cppflags = -I$(top_builddir) -I$(top_srcdir)/src $(AM_CPPFLAGS) \
	-DDATI_CONF_PATH='"$(DAT_CONF)"' -DDATI_PROVIDER_DIR='"$(libdir)"'

dati_sources = \
	src/builtins.def \
	src/call_params.h \
	src/calls.def \
	src/cancel.h \
	src/conf.c \
	src/conf.h \
	src/dati_api.h \
	src/diag.c \
	src/diag.h \
	src/dispatch.c \
	src/extension.h \
	src/fork.c \
	src/ia.c \
	src/iatable.c \
	src/iatable.h \
	src/key.h \
	src/load.c \
	src/load.h \
	src/lock.c \
	src/lock.h \
	src/registry.c \
	src/registry.h \
	src/rank.c \
	src/rank.h \
	src/static.c \
	src/static.h \
	src/events.def \
	src/strerror.c \
	src/strevent.c \
	src/strings.def \
	src/use.c \
	src/use.h

lib_LTLIBRARIES += libdat.la libdat2.la

libdat_la_SOURCES = $(dati_sources)
libdat_la_CPPFLAGS = $(dati_cppflags) -DDAT_API_MAJOR=1
libdat_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 \
	-Wl,--version-script=$(top_srcdir)/src/libdat.map
EXTRA_libdat_la_DEPENDENCIES = src/libdat.map

libdat2_la_SOURCES = $(dati_sources) src/extension.c src/related.c
libdat2_la_CPPFLAGS = $(dati_cppflags) -DDAT_API_MAJOR=2
libdat2_la_LDFLAGS = $(AM_LDFLAGS) -version-info 2:0:0 \
	-Wl,--version-script=$(top_srcdir)/src/libdat2.map
EXTRA_libdat2_la_DEPENDENCIES = src/libdat2.map

EXTRA_DIST += src/libdat.map src/libdat2.map
