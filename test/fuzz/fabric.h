/* SPDX-License-Identifier: BSD-2-Clause */
/* A fabric with RDM endpoints that does what the fuzz target says. */
#ifndef FUZZ_FABRIC_H
#define FUZZ_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills dofi_lib. `local`: memory has to be registered. */
void fabric_open(bool local);
/* Everything has been closed. */
bool fabric_closed(void);
/* The length of the oldest receive of that kind; 0: none is posted. */
size_t fabric_room(bool tagged);
/* It receives that. */
void fabric_deliver(bool tagged, const void *data, size_t len);
/* The oldest receive of that kind, or the oldest send, fails. */
void fabric_fail_receive(bool tagged);
void fabric_fail_send(void);
/* So many sends and receives find no room. */
void fabric_refuse(unsigned int n);

#endif
