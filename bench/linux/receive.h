/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs that measure TCP have in common (stream.c, between.c). */
#ifndef RECEIVE_H
#define RECEIVE_H

#include "measure.h"
#include <unistd.h>

/* Bytes before an interval, and in it. The labels of bench/sections/6-network.toml have the second number. */
#define WARM	(1 << 20)
#define BYTES	(4 << 20)

static char buffer[65536];

static void receive(int fd, int bytes)
{
	while (bytes > 0) {
		int n = checked(read(fd, buffer, bytes < (int)sizeof buffer ? bytes : (int)sizeof buffer), "read");

		if (!n) {
			fprintf(stderr, "the connection has ended\n");
			exit(1);
		}
		bytes -= n;
	}
}

#endif
