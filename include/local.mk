# Public headers: include/dat is uDAPL 1.2, include/dat2 is uDAPL 2.0.
datdir = $(includedir)/dat
dat_HEADERS = \
	include/dat/dat.h \
	include/dat/dat_cm.h \
	include/dat/dat_dto.h \
	include/dat/dat_ep.h \
	include/dat/dat_error.h \
	include/dat/dat_evd.h \
	include/dat/dat_event.h \
	include/dat/dat_ia.h \
	include/dat/dat_mem.h \
	include/dat/dat_ofi.h \
	include/dat/dat_param.h \
	include/dat/dat_platform_specific.h \
	include/dat/dat_redirection.h \
	include/dat/dat_registry.h \
	include/dat/dat_srq.h \
	include/dat/dat_types.h \
	include/dat/dat_vendor_specific.h \
	include/dat/udat.h \
	include/dat/udat_attr.h \
	include/dat/udat_config.h \
	include/dat/udat_redirection.h \
	include/dat/udat_vendor_specific.h

dat2dir = $(includedir)/dat2
dat2_HEADERS = \
	include/dat2/dat.h \
	include/dat2/dat_cm.h \
	include/dat2/dat_dto.h \
	include/dat2/dat_ep.h \
	include/dat2/dat_error.h \
	include/dat2/dat_evd.h \
	include/dat2/dat_event.h \
	include/dat2/dat_ia.h \
	include/dat2/dat_ib_collectives.h \
	include/dat2/dat_ib_counters.h \
	include/dat2/dat_ib_extensions.h \
	include/dat2/dat_iw_extensions.h \
	include/dat2/dat_mem.h \
	include/dat2/dat_ofi.h \
	include/dat2/dat_param.h \
	include/dat2/dat_platform_specific.h \
	include/dat2/dat_redirection.h \
	include/dat2/dat_registry.h \
	include/dat2/dat_srq.h \
	include/dat2/dat_types.h \
	include/dat2/dat_vendor_specific.h \
	include/dat2/udat.h \
	include/dat2/udat_attr.h \
	include/dat2/udat_config.h \
	include/dat2/udat_redirection.h \
	include/dat2/udat_vendor_specific.h
