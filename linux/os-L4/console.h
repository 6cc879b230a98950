/* SPDX-License-Identifier: GPL-2.0 */
/* Output by the console server (console.c). */
#ifndef __OS_L4_CONSOLE_H
#define __OS_L4_CONSOLE_H

#include <linux/types.h>

void l4_console_write(const char *s, unsigned int n);
/* Writes to the machine-readable line.  False: the system description does not let this Linux. */
bool l4_result(const void *data, unsigned int n);

#endif
