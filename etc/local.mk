pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = etc/dat.pc etc/dat2.pc

cmakedir = $(libdir)/cmake/DAT
nodist_cmake_DATA = etc/DATConfig.cmake
EXTRA_DIST += etc/DATConfig.cmake.in
CLEANFILES += etc/DATConfig.cmake

# Not by config.status, for which folders contain the names of others.
etc/DATConfig.cmake: etc/DATConfig.cmake.in Makefile
	$(AM_V_GEN)$(SED) -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
		$(srcdir)/etc/DATConfig.cmake.in >$@.tmp && mv $@.tmp $@

# An example for administrators: no installation replaces a dat.conf that is in use.
exampledir = $(docdir)/examples
dist_example_DATA = etc/dat.conf

include etc/completion/local.mk
