/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that use libfabric's connected endpoints without DAT. */
#ifndef RFAB_H
#define RFAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf;

/* What a connection message carries, at most; more makes libfabric 1.17 overrun its own memory. */
#define RF_CM_DATA 256

/* What happened: the numbers of libfabric's events have no names without its headers. */
enum rf_event { RF_NOTHING, RF_CONNECTED, RF_SHUTDOWN, RF_REFUSED, RF_ERROR };

/* False: the adapters of the fabric under test have no listener of libfabric's tcp. */
bool rf_usable(void);
/* An endpoint for a connection to port `port` of the address of the board. */
struct rf *rf_open(uint16_t port);
void rf_close(struct rf *rf);
void rf_connect(struct rf *rf, const void *data, size_t len);
/* Waits for the next event of the connection. */
enum rf_event rf_wait(struct rf *rf, unsigned int ms);
const char *rf_event_text(enum rf_event event);

#endif
