/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that use libfabric's connected endpoints without DAT: strangers of the same fabric. */
#ifndef RFAB_H
#define RFAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf;

/* What a connection message carries, at most; more makes libfabric 1.17 overrun its own memory. */
#define RF_CM_DATA 256

/* What happened: the numbers of libfabric's events have no names without its headers. */
enum rf_event { RF_NOTHING, RF_REQUEST, RF_CONNECTED, RF_SHUTDOWN, RF_REFUSED, RF_ERROR };

/* False: the fabric under test is not libfabric's tcp. */
bool rf_usable(void);
/* A client endpoint, or a listener (`listens`), on the address of the board. A listener puts
 * its port on the board as connection qualifier. */
struct rf *rf_open(bool listens);
void rf_close(struct rf *rf);
void rf_connect(struct rf *rf, const void *data, size_t len);
/* Waits for the next event of the connection; data that came with it is at rf_data. */
enum rf_event rf_wait(struct rf *rf, unsigned int ms);
const uint8_t *rf_data(const struct rf *rf, size_t *len);
/* Answers to the request that rf_wait reported. */
void rf_accept(struct rf *rf, const void *data, size_t len);
void rf_reject(struct rf *rf, const void *data, size_t len);
void rf_shutdown(struct rf *rf);
const char *rf_event_text(enum rf_event event);

#endif
