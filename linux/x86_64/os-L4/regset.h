/* SPDX-License-Identifier: GPL-2.0 */
/* Register sets whose functions are in fpu.c.  ptrace.c lists all sets. */
#ifndef __X86_64_OS_L4_REGSET_H
#define __X86_64_OS_L4_REGSET_H

#include <linux/regset.h>

user_regset_get2_fn fxsave_get, xsave_get;
user_regset_set_fn fxsave_set, xsave_set;
user_regset_active_fn xsave_active;
/* The size of xsave's format, known once Linux boots. */
unsigned int l4_xsave_bytes(void);

/* Their order in that list. */
enum { SET_GENERAL, SET_FXSAVE, SET_XSAVE };

#endif
