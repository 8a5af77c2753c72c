# The fabric verbs, in a virtual machine with software RDMA devices: "make check-verbs" takes most
# of an hour, "make check-verbs-quick" minutes. By hand: test/vm/check-verbs -h, test/vm/vm -h.
EXTRA_DIST += \
	test/vm/check-verbs \
	test/vm/guest.sh \
	test/vm/inside \
	test/vm/kernel.sh \
	test/vm/vm

check-verbs check-verbs-quick: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)
	$(top_srcdir)/test/vm/check-verbs -b $(abs_top_builddir) \
		`case $@ in *-quick) echo -q ;; esac` $${VERBS_GROUPS-} ; \
		status=$$?; test $$status -eq 77 || exit $$status
.PHONY: check-verbs check-verbs-quick

clean-local: clean-vm
clean-vm:
	rm -rf test/vm/logs
.PHONY: clean-vm
