pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = etc/dat.pc etc/dat2.pc
