# Completion of the tools; by hand, from the top of a build tree: test/packaging/completion.sh.
if !SANITIZED
TESTS += test/packaging/completion.sh
endif
EXTRA_DIST += test/packaging/completion.sh
