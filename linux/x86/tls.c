// SPDX-License-Identifier: GPL-2.0
/* TLS descriptors: the microkernel has three for each thread, where i386 Linux has them. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <asm/desc.h>
#include <asm/ldt.h>
#include <os.h>
#include <sysdep/tls.h>
#include "../../../um/os-L4/l4.h"

void check_host_supports_tls(int *supports_tls, int *tls_min)
{
	*supports_tls = 1;
	*tls_min = GDT_ENTRY_TLS_MIN_I386;
}

int os_set_thread_area(user_desc_t *info, int pid)
{
	u32 limit = (info->limit & 0xfffff) |
		    (info->limit_in_pages ? L4_TLS_PAGES : 0) |
		    (info->read_exec_only ? L4_TLS_READ_ONLY : 0) |
		    (info->seg_32bit ? 0 : L4_TLS_SIXTEEN_BIT) |
		    (info->seg_not_present ? 0 : L4_TLS_PRESENT);

	return l4_set_tls(current, info->entry_number - GDT_ENTRY_TLS_MIN_I386,
			  info->base_addr, limit);
}
