/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of sets of registers (regset.c) that are beside what they read and write. */
#ifndef __OS_L4_REGSET_H
#define __OS_L4_REGSET_H

#include <linux/regset.h>

user_regset_get2_fn fsave_get, fxsave_get, tls_get;
user_regset_set_fn fsave_set, fxsave_set, tls_set;
user_regset_active_fn fxsave_active, tls_active;

/* Their order. */
enum { SET_GENERAL, SET_FSAVE, SET_FXSAVE, SET_TLS };

#endif
