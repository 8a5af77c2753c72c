# Builds and tests in minimal Debian systems; by hand: test/roots/check -h. Root, mmdebstrap and
# network access to Debian's mirror are needed; without, they are skipped with the reason.
EXTRA_DIST += test/roots/check test/roots/lib.sh

check-minimal:
	$(srcdir)/test/roots/check minimal || test $$? -eq 77
check-32bit:
	$(srcdir)/test/roots/check 32bit || test $$? -eq 77
# Everything that needs no RDMA devices: hours.
check-everything: check-nightly
	$(MAKE) $(AM_MAKEFLAGS) check-fabrics
	$(MAKE) $(AM_MAKEFLAGS) check-faults
	$(srcdir)/test/roots/check minimal 32bit || test $$? -eq 77
.PHONY: check-minimal check-32bit check-everything

clean-local: clean-roots
clean-roots:
	rm -rf test/roots/logs
.PHONY: clean-roots
