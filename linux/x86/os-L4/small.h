/* SPDX-License-Identifier: GPL-2.0 */
/* Small processes (small.c). */
#ifndef __X86_OS_L4_SMALL_H
#define __X86_OS_L4_SMALL_H

#include <linux/types.h>

struct l4_space;
struct mm_struct;
struct seq_file;

/* A program was laid out.  Its space becomes small if its layout is for a region, or later. */
void l4_enter_region(struct mm_struct *mm);
/* A process needs more than its region has.  True: its space was small, and is large now. */
bool l4_leave_region(struct mm_struct *mm);
/* A space that has nothing mapped at its region's end or above, for a process; the process ends. */
void l4_region_begin(struct l4_space *space, unsigned long region);
void l4_region_end(struct l4_space *space);
/* Makes a space large if it is small.  It may become small again. */
void l4_space_enlarge(struct l4_space *space);
/* Makes a space that `moves` small or large. */
void l4_region_move(struct l4_space *space);
/* What decides that: a space's mm is to run; it was interrupted; an event. */
void l4_region_switched(struct l4_space *space);
void l4_region_tick(struct l4_space *space);
extern u32 l4_events;
void l4_small_show(struct seq_file *m);

#endif
