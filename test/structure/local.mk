# Layers, circles of includes, sizes and first lines of the sources, words that are not used; the format of the
# sources. By hand: test/structure/check, test/structure/format.
if !SANITIZED
TESTS += test/structure/check test/structure/format
endif
EXTRA_DIST += include/dat/.clang-format include/dat2/.clang-format
EXTRA_DIST += test/structure/check test/structure/format test/structure/layers test/structure/quirks
EXTRA_DIST += test/structure/calls test/structure/words

.PHONY: check-structure
check-structure:
	$(srcdir)/test/structure/check
	$(srcdir)/test/structure/format || test $$? -eq 77
