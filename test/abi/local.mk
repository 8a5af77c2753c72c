# Do the public headers hold the binary interface, and compile alone in every C and C++?
if !SANITIZED
long_tests += test/abi/headers.sh
endif
EXTRA_DIST += \
	test/abi/abi_check_1.2.c \
	test/abi/abi_check_2.0.c \
	test/abi/headers.sh \
	test/abi/use_1.2.c \
	test/abi/use_2.0.c
