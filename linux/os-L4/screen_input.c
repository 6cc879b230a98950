// SPDX-License-Identifier: GPL-2.0
/*
 * Keyboard and pointer of the screen server, as two devices of Linux.  The pointer is absolute: it is where the
 * server has it.
 */
#include <linux/bitops.h>
#include <linux/input.h>
#include <linux/kernel.h>
#include "screen.h"

/* The most steps of a wheel between two checks. */
#define MOST_STEPS	64

static struct input_dev *keyboard, *pointer;

static void release(struct input_dev *dev)
{
	unsigned int code;

	for_each_set_bit(code, dev->key, KEY_CNT)
		input_report_key(dev, code, 0);
	input_sync(dev);
}

void l4_screen_release_all(void)
{
	release(keyboard);
	release(pointer);
}

static void take_key(u32 code, u32 value)
{
	struct input_dev *dev = code < BTN_MISC ? keyboard : pointer;

	if (code < KEY_CNT && test_bit(code, dev->keybit))
		input_report_key(dev, code, value != 0);
}

/* Events that Linux does not know, or that have no meaning here, are ignored. */
static void take(u32 type, u32 code, u32 value)
{
	switch (type) {
	case EV_KEY:
		take_key(code, value);
		break;
	case EV_ABS:
		if (code == ABS_X)
			input_report_abs(pointer, ABS_X, min(value, l4_screen.width - 1));
		else if (code == ABS_Y)
			input_report_abs(pointer, ABS_Y, min(value, l4_screen.height - 1));
		break;
	case EV_REL:
		if (code == REL_WHEEL)
			input_report_rel(pointer, REL_WHEEL, clamp((s32)value, -MOST_STEPS, MOST_STEPS));
		break;
	case EV_SYN:
		if (code == SYN_DROPPED)
			l4_screen_release_all();
		input_sync(keyboard);
		input_sync(pointer);
		break;
	case L4_SCREEN_FOCUS:
		if (!value)
			l4_screen_release_all();
		break;
	}
}

int l4_screen_take_events(void)
{
	u32 produced = READ_ONCE(*(u32 *)(l4_screen.theirs + L4_SCREEN_EVENTS_PRODUCED));

	if (produced - l4_screen.taken > L4_SCREEN_MOST_EVENTS)
		return -EPROTO;
	mb();
	for (; l4_screen.taken != produced; l4_screen.taken++) {
		u32 at = L4_SCREEN_EVENTS + l4_screen.taken % L4_SCREEN_MOST_EVENTS * L4_SCREEN_EVENT;
		u32 kind = READ_ONCE(*(u32 *)(l4_screen.theirs + at)), value = READ_ONCE(*(u32 *)(l4_screen.theirs + at + 4));

		take(kind & 0xffff, kind >> 16, value);
	}
	mb();
	WRITE_ONCE(*(u32 *)(l4_screen.ours + L4_SCREEN_EVENTS_CONSUMED), l4_screen.taken);
	return 0;
}

static struct input_dev *make(const char *name)
{
	struct input_dev *dev = input_allocate_device();

	if (dev) {
		dev->name = name;
		dev->phys = "l4screen";
		dev->id.bustype = BUS_VIRTUAL;
	}
	return dev;
}

int l4_screen_input_init(void)
{
	unsigned int code;
	int err;

	keyboard = make("Macadamia keyboard");
	pointer = make("Macadamia pointer");
	if (!keyboard || !pointer) {
		input_free_device(keyboard);
		input_free_device(pointer);
		return -ENOMEM;
	}
	/* A key that stays down repeats: that is Linux's. */
	__set_bit(EV_REP, keyboard->evbit);
	for (code = KEY_ESC; code < BTN_MISC; code++)
		input_set_capability(keyboard, EV_KEY, code);
	input_set_abs_params(pointer, ABS_X, 0, l4_screen.width - 1, 0, 0);
	input_set_abs_params(pointer, ABS_Y, 0, l4_screen.height - 1, 0, 0);
	for (code = BTN_LEFT; code <= BTN_EXTRA; code++)
		input_set_capability(pointer, EV_KEY, code);
	input_set_capability(pointer, EV_REL, REL_WHEEL);
	err = input_register_device(keyboard);
	if (!err)
		err = input_register_device(pointer);
	return err;
}
