/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __POWERPC_UM_SYSDEP_ARCHSETJMP_H
#define __POWERPC_UM_SYSDEP_ARCHSETJMP_H

/* setjmp.S depends on the order. */
struct __jmp_buf {
	unsigned int __sp, __lr, __cr, __r[19];	/* r13 to r31 */
};

typedef struct __jmp_buf jmp_buf[1];

#define JB_IP	__lr
#define JB_SP	__sp

unsigned long get_thread_reg(int reg, jmp_buf *buf);

#endif
