# Manual pages, section 7.
dist_man7_MANS += man7/dat_probes.7
