/* SPDX-License-Identifier: BSD-2-Clause */
/* What the calling thread is. */
#include "base/thread.h"

_Thread_local bool dofi_thread_is_progress;
