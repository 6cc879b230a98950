/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random operations on pages against a model: the same in each run, and a word of the first page that is wrong. */
#include <stdio.h>
#include <stdlib.h>

static unsigned int state = 1;

static unsigned int chance(unsigned int below)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

static void expect(int holds, const char *what, unsigned int page)
{
	if (holds)
		return;
	printf("not ok: %s, page %u\n", what, page);
	exit(1);
}
