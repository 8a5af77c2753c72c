# The wire over shared memory with everything above it: how it fares with peers that cheat.
if HAVE_CUNIT
check_PROGRAMS += test/msgep/shm
TESTS += test/msgep/shm

test_msgep_shm_SOURCES = \
	test/msgep/shm_main.c test/msgep/shm_rig.c test/msgep/shm_rig.h test/msgep/t_shm_frames.c \
	test/msgep/t_shm_params.c test/msgep/t_shm_read.c test/msgep/t_shm_order.c \
	test/msgep/t_shm_idle.c test/msgep/t_shm_ready.c test/msgep/t_shm_ready_bad.c \
	test/msgep/t_shm_ring.c test/msgep/t_shm_room.c test/msgep/t_shm_sleep.c test/msgep/t_assert.c
test_msgep_shm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/prov_ofi $(LIBFABRIC_CFLAGS)
test_msgep_shm_LDADD = prov_ofi/libdaplofi-common.la libdattest.la -lpthread
endif
