/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares a fake fabric with RDM endpoints, driven by the fuzz target. */
#ifndef FUZZ_FABRIC_H
#define FUZZ_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills dofi_lib. `local`: memory has to be registered. */
void fabric_open(bool local);
/* True if everything has been closed. */
bool fabric_closed(void);
/* The length of the oldest posted receive of that kind; 0 if there is none. */
size_t fabric_next_recv_len(bool tagged);
/* Delivers data to it. */
void fabric_deliver(bool tagged, const void *data, size_t len);
/* Fails the oldest receive of that kind, or the oldest send. */
void fabric_fail_receive(bool tagged);
void fabric_fail_send(void);
/* The next n sends and receives find no room. */
void fabric_refuse(unsigned int n);

#endif
