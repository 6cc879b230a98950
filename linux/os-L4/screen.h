/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The screen, the keyboard and the pointer: a client of the screen server (docs/screen.md).  Linux writes pixels and rectangles
 * into one piece of memory, the server events into another one, which Linux only reads.
 *
 * What the server writes is read once, and checked: an index, which must not be further from our own than its ring has
 * entries, and each event's type, code and value.
 *
 * Everything here that touches the rings, or says whether they may be touched, runs with soft interrupts disabled.
 */
#ifndef __OS_L4_SCREEN_H
#define __OS_L4_SCREEN_H

#include <linux/compiler.h>
#include <linux/interrupt.h>
#include <linux/types.h>
#include <drm/drm_rect.h>
#include "abi.h"

/* The client's side of it. */
struct l4_screen {
	char *ours, *theirs;	/* what we write, and what the server does */
	u32 width, height;	/* as the server said when it was attached for the first time */
	u32 refresh;		/* times a second */
	u32 produced;		/* rectangles that were published since, modulo 2^32 */
	u32 taken;		/* events that were taken */
	bool attached;		/* both sides have begun again, and the server has kept to the protocol since */
	struct tasklet_struct tasklet;
};

extern struct l4_screen l4_screen;

static inline char *l4_screen_pixels(void)
{
	return l4_screen.ours + L4_SCREEN_PIXELS;
}

/* screen.c: rectangles that were published and are not on the screen yet; negative: the ring is broken. */
int l4_screen_waiting(void);
/* Publishes a rectangle, or keeps it to publish it with others, as one, when there is room. */
void l4_screen_add(const struct drm_rect *rect);
/* Publishes what was added. */
void l4_screen_show(void);
/* Whether everything that was added is on the screen. */
bool l4_screen_is_drawn(void);

/* screen_drm.c: makes the device, when the size is known. */
int l4_screen_drm_init(void);
/* The server has drawn something, or is gone. */
void l4_screen_drm_advance(void);

/* screen_input.c: makes the devices. */
int l4_screen_input_init(void);
/* Takes the events that there are.  Negative: the ring is broken. */
int l4_screen_take_events(void);
/* Nothing is pressed any more. */
void l4_screen_release_all(void);

#endif
