/* SPDX-License-Identifier: GPL-2.0 */
/* The processor's version register, which is in the microkernel's information page. */
#ifndef __POWERPC_OS_L4_VERSION_H
#define __POWERPC_OS_L4_VERSION_H

#include "../../../um/os-L4/abi.h"
#include "../../../um/os-L4/l4_syscall.h"

/* The page is next to the UTCBs. */
static inline u32 l4_processor_version(void)
{
	return *(const u32 *)((l4_utcb & -L4_TABLE_SPAN) + L4_KIP_OFFSET + L4_VERSION_OFFSET);
}

#endif
