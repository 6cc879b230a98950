/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the checks of ARM share. */
#ifndef ARMEL_H
#define ARMEL_H

#include "../abi.h"

/* A system call. */
long raw(int nr, long a, long b, long c);

#endif
