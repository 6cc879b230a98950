/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Linux alone needs of a firmware on QEMU's AmigaOne, which has none: this starts it, and ends the machine when Linux resets it.
 * It lies at fff00000. boards/amigaone.toml says where QEMU puts it, and the device tree; Linux lies at 0.
 */

#define LINUX	0x00000000
#define DEVICES	0x01e00000
/* A port of the bridge: this command to the keyboard controller resets the machine. */
#define PORT	0xfe000064
#define RESET	0xfe
/* From the beginning. */
#define RESET_VECTOR	0x100

/* Linux's first functions need a stack: its own is not there yet. This is below the device tree. */
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
