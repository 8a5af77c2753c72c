# Beside the original DAPL, in a virtual machine with RDMA devices; by hand:
# test/compare/compare-original -h
EXTRA_DIST += docs/comparison.md \
	test/compare/compare-original \
	test/compare/inside \
	test/compare/table

compare-original: all
	$(top_srcdir)/test/compare/compare-original -b $(abs_top_builddir); \
		status=$$?; test $$status -eq 77 || exit $$status
.PHONY: compare-original
