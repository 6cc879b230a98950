/* SPDX-License-Identifier: GPL-2.0 */
/* What drivers do before Linux waits. */
#ifndef __OS_L4_IDLE_H
#define __OS_L4_IDLE_H

/* The disk server is told of requests that it was not told of (disk.c). */
void l4_disk_idle(void);
/* Slots of the network whose frames were read go back (net.c).  Interrupts are disabled. */
void l4_net_idle(void);

#endif
