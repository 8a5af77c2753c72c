pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = etc/dat.pc etc/dat2.pc

# An example for administrators: no installation replaces a dat.conf that is in use.
exampledir = $(docdir)/examples
dist_example_DATA = etc/dat.conf

include etc/completion/local.mk
