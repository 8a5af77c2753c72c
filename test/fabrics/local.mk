# Everything over every fabric. make check runs the quick part (QUICK_FABRICS in test/fabrics/lib.sh),
# make check-fabrics all of it.
EXTRA_DIST += test/fabrics/fabrics.def test/fabrics/fabrics.h
