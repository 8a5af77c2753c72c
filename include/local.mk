# Public headers: include/dat is uDAPL 1.2, include/dat2 is uDAPL 2.0.
datdir = $(includedir)/dat
dat_HEADERS = \
	include/dat/dat.h \
	include/dat/dat_error.h \
	include/dat/dat_platform_specific.h \
	include/dat/dat_redirection.h \
	include/dat/dat_registry.h \
	include/dat/dat_vendor_specific.h \
	include/dat/udat.h \
	include/dat/udat_config.h \
	include/dat/udat_redirection.h \
	include/dat/udat_vendor_specific.h

dat2dir = $(includedir)/dat2
dat2_HEADERS = \
	include/dat2/dat.h \
	include/dat2/dat_error.h \
	include/dat2/dat_ib_extensions.h \
	include/dat2/dat_iw_extensions.h \
	include/dat2/dat_platform_specific.h \
	include/dat2/dat_redirection.h \
	include/dat2/dat_registry.h \
	include/dat2/dat_vendor_specific.h \
	include/dat2/udat.h \
	include/dat2/udat_config.h \
	include/dat2/udat_redirection.h \
	include/dat2/udat_vendor_specific.h
