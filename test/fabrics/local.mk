# Everything over every fabric. make check runs the quick part (QUICK_FABRICS in test/fabrics/lib.sh),
# make check-fabrics all of it.
EXTRA_DIST += test/fabrics/fabrics.def test/fabrics/fabrics.h

check_PROGRAMS += test/fabrics/scenario

test_fabrics_scenario_SOURCES = \
	test/fabrics/scenario.c \
	test/fabrics/scenario.h \
	test/fabrics/scenario_gen.c \
	test/fabrics/scenario_log.c \
	test/fabrics/scenario_play.c \
	test/fabrics/scenario_side.c
test_fabrics_scenario_CPPFLAGS = $(robust_cppflags) -DRL_API=2
test_fabrics_scenario_LDFLAGS = $(robust_ldflags)
test_fabrics_scenario_LDADD = $(robust_libs2)
