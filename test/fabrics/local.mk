# Everything over every fabric. make check-all runs the quick part (QUICK_FABRICS
# in test/fabrics/lib.sh), make check-fabrics all of it.
EXTRA_DIST += \
	test/fabrics/README.md \
	test/fabrics/api \
	test/fabrics/check \
	test/fabrics/fabrics.def \
	test/fabrics/fabrics.h \
	test/fabrics/lib.sh \
	test/fabrics/numbers.sh \
	test/fabrics/quick \
	test/fabrics/scenarios \
	test/fabrics/table.sh \
	test/fabrics/shm_paths

check_PROGRAMS += test/fabrics/scenario test/fabrics/hosts test/fabrics/both
TESTS += test/fabrics/both
long_tests += test/fabrics/api test/fabrics/quick

check-fabrics: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)
	$(srcdir)/test/fabrics/check
.PHONY: check-fabrics

test_fabrics_scenario_SOURCES = \
	test/fabrics/scenario.c \
	test/fabrics/scenario.h \
	test/fabrics/scenario_clock.c \
	test/fabrics/scenario_ends.c \
	test/fabrics/scenario_gen.c \
	test/fabrics/scenario_log.c \
	test/fabrics/scenario_play.c \
	test/fabrics/scenario_play.h \
	test/fabrics/scenario_side.c \
	test/fabrics/scenario_spread.c
test_fabrics_scenario_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_fabrics_scenario_LDFLAGS = $(robust_ldflags)
test_fabrics_scenario_LDADD = $(robust_libs2)

test_fabrics_hosts_SOURCES = \
	test/fabrics/hosts.c \
	test/fabrics/hosts.h \
	test/fabrics/hosts_firewall.c \
	test/fabrics/hosts_more.c \
	test/fabrics/hosts_side.c \
	test/fabrics/net.c \
	test/fabrics/net.h
test_fabrics_hosts_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_fabrics_hosts_LDFLAGS = $(robust_ldflags)
test_fabrics_hosts_LDADD = $(robust_libs2)

test_fabrics_both_SOURCES = \
	test/fabrics/both.c \
	test/fabrics/net.c \
	test/fabrics/net.h
test_fabrics_both_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_fabrics_both_LDFLAGS = $(robust_ldflags)
test_fabrics_both_LDADD = $(robust_libs2)

clean-local: clean-fabrics
clean-fabrics:
	rm -rf test/fabrics/logs
.PHONY: clean-fabrics
