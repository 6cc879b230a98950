/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM_UM_SYSDEP_ARCHSETJMP_H
#define __ARM_UM_SYSDEP_ARCHSETJMP_H

struct __jmp_buf {
	unsigned int __r4, __r5, __r6, __r7, __r8, __r9, __r10, __fp, __sp, __lr;
};

typedef struct __jmp_buf jmp_buf[1];

#define JB_IP	__lr
#define JB_SP	__sp

unsigned long get_thread_reg(int reg, jmp_buf *buf);

#endif
