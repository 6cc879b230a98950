/* SPDX-License-Identifier: GPL-2.0 */
/* What drivers do before Linux waits. */
#ifndef __OS_L4_IDLE_H
#define __OS_L4_IDLE_H

/* Notifies the disk server of requests of which it was not notified yet (disk.c). */
void l4_disk_idle(void);
/* Gives back slots of the network whose frames were read (net.c).  Interrupts are disabled. */
void l4_net_idle(void);

#endif
