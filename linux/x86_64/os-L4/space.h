/* SPDX-License-Identifier: GPL-2.0 */
/* What a process's space, and a user thread, have of the processor (os-L4/subarch.h): nothing. */
#ifndef __X86_64_OS_L4_SPACE_H
#define __X86_64_OS_L4_SPACE_H

struct arch_l4_space { };
struct arch_l4_thread { };

#endif
