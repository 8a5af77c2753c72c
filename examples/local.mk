# Example programs: built and run by the tests, installed as source.
examples_sources = \
	examples/common.h \
	examples/event_loop.c \
	examples/hello_client.c \
	examples/hello_server.c \
	examples/oldxfer.c \
	examples/pingpong.c \
	examples/rdma_write.c \
	examples/srq_server.c
dist_example_DATA += $(examples_sources) examples/Makefile

check_PROGRAMS += \
	examples/event_loop \
	examples/hello_client \
	examples/hello_server \
	examples/oldxfer \
	examples/pingpong \
	examples/rdma_write \
	examples/srq_server

examples_event_loop_SOURCES = examples/event_loop.c examples/common.h
examples_event_loop_LDADD = libdat2.la
examples_hello_client_SOURCES = examples/hello_client.c
examples_hello_client_LDADD = libdat2.la
examples_hello_server_SOURCES = examples/hello_server.c
examples_hello_server_LDADD = libdat2.la
examples_oldxfer_SOURCES = examples/oldxfer.c
examples_oldxfer_LDADD = libdat.la
examples_pingpong_SOURCES = examples/pingpong.c examples/common.h
examples_pingpong_LDADD = libdat2.la
examples_rdma_write_SOURCES = examples/rdma_write.c examples/common.h
examples_rdma_write_LDADD = libdat2.la
examples_srq_server_SOURCES = examples/srq_server.c examples/common.h
examples_srq_server_LDADD = libdat2.la
