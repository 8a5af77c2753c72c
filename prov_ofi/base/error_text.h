/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of error numbers, also of libfabric's, without libfabric. */
#ifndef DOFI_ERROR_TEXT_H
#define DOFI_ERROR_TEXT_H

/* The meaning of a positive errno or FI_* number. */
const char *dofi_error_text(int err);

#endif
