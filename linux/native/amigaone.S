/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The firmware that Linux alone needs on QEMU's AmigaOne, which has none: it starts Linux, and ends the machine when
 * Linux resets it. It is at fff00000, and Linux at 0. boards/amigaone.toml says where QEMU loads it and the device
 * tree.
 */

#define LINUX	0x00000000
#define DEVICES	0x01e00000
/* A port of the bridge: this command to the keyboard controller resets the machine. */
#define PORT	0xfe000064
#define RESET	0xfe
/* The entry point. */
#define RESET_VECTOR	0x100

/* Linux's first functions need a stack, and Linux has none yet. This one is below the device tree. */
start:
	lis	%r1, (DEVICES - 64)@ha
	addi	%r1, %r1, (DEVICES - 64)@l
	lis	%r3, DEVICES@h
	ori	%r3, %r3, DEVICES@l
	li	%r5, 0
	mtmsr	%r5
	isync
	lis	%r4, LINUX@h
	ori	%r4, %r4, LINUX@l
	mtctr	%r4
	bctr

	.org	RESET_VECTOR
	lis	%r3, PORT@ha
	li	%r4, RESET
	stb	%r4, PORT@l(%r3)
ended:
	b	ended
