# Manual pages, section 7.
dist_man7_MANS += \
	man7/dat.7 \
	man7/dat_errors.7 \
	man7/dat_probes.7 \
	man7/prov_ofi.7
