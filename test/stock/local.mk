# Debian's unmodified DAT programs over our libraries; by hand: test/stock/stock -h
long_tests += test/stock/stock
if !SANITIZED
TESTS += test/stock/two_users.sh
endif
EXTRA_DIST += \
	test/stock/dapltest.sh \
	test/stock/dtest.sh \
	test/stock/judge.sh \
	test/stock/lib.sh \
	test/stock/stock \
	test/stock/tsan.supp \
	test/stock/two_users.sh \
	test/stock/valgrind.supp

clean-local: clean-stock
clean-stock:
	rm -rf test/stock/logs
.PHONY: clean-stock
