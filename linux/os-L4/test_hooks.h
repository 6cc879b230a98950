/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of tests that the host layer calls; they are empty if the tests are not built in. */
#ifndef __OS_L4_TEST_HOOKS_H
#define __OS_L4_TEST_HOOKS_H

#include <linux/types.h>

struct l4_frame;
struct mm_struct;

/* Comparison of page tables with the microkernel's (linux/tests/walk.c). */
#ifdef L4_TESTS
/* A range of a process was synchronised: there are records for it. */
void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to);
/* An event of a process has come.  All records were carried out before. */
void l4_walk_event(struct mm_struct *mm);
#else
static inline void l4_walk_synced(struct mm_struct *mm, unsigned long from, unsigned long to) { }
static inline void l4_walk_event(struct mm_struct *mm) { }
#endif

/* Attacks of a server that was taken over (a sub-architecture's). */
#ifdef L4_TESTS
/* The Linux thread raised an exception.  True: by an attack, and goes on with these registers. */
bool l4_attack_fault(struct l4_frame *frame);
/* An event of a process has come. */
void l4_attack_event(u32 kind, u32 vector);
#else
static inline bool l4_attack_fault(struct l4_frame *frame) { return false; }
static inline void l4_attack_event(u32 kind, u32 vector) { }
#endif

#endif
