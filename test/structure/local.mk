# Layers, circles of includes, sizes and first lines of the sources; words that are not used. By hand:
# test/structure/check.
if !SANITIZED
TESTS += test/structure/check
endif
EXTRA_DIST += test/structure/check test/structure/layers test/structure/quirks test/structure/words

.PHONY: check-structure
check-structure:
	$(srcdir)/test/structure/check
