/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares a peer that uses libfabric's connected endpoints without DAT. */
#ifndef RFAB_H
#define RFAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf;

/* The maximum of connection data; more makes libfabric 1.17 overrun its own memory. */
#define RF_CM_DATA 256

/* Events of a connection, for sources without libfabric's headers. */
enum rf_event { RF_NOTHING, RF_CONNECTED, RF_SHUTDOWN, RF_REFUSED, RF_ERROR };

/* False if the adapters of the tested fabric have no listener of libfabric's tcp provider. */
bool rf_usable(void);
/* An endpoint for a connection to port `port` of the address of the board. */
struct rf *rf_open(uint16_t port);
void rf_close(struct rf *rf);
void rf_connect(struct rf *rf, const void *data, size_t len);
/* Waits for the next event of the connection. */
enum rf_event rf_wait(struct rf *rf, unsigned int ms);
const char *rf_event_text(enum rf_event event);

#endif
