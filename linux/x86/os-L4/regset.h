/* SPDX-License-Identifier: GPL-2.0 */
/* Register sets whose functions are in fpu.c and tls.c.  ptrace.c lists all sets. */
#ifndef __X86_OS_L4_REGSET_H
#define __X86_OS_L4_REGSET_H

#include <linux/regset.h>

user_regset_get2_fn fsave_get, fxsave_get, tls_get;
user_regset_set_fn fsave_set, fxsave_set, tls_set;
user_regset_active_fn fxsave_active, tls_active;

/* Their order in that list. */
enum { SET_GENERAL, SET_FSAVE, SET_FXSAVE, SET_TLS };

#endif
