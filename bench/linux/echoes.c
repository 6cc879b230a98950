// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Sends datagrams back, as bench/native/src/echo.rs does, until an empty one comes. An interval begins before a
 * datagram is sent back and ends when the next one has arrived: it has all the work for one datagram, in whatever
 * order.
 */
#include "measure.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define PORT	7
/* How many datagrams at the beginning are not measured. */
#define WARM	50

int main(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) }, from;
	int fd = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket"), number, bytes;
	char buffer[64];

	checked(bind(fd, (struct sockaddr *)&at, sizeof at), "bind");
	for (number = 0; ; number++) {
		socklen_t size = sizeof from;

		bytes = checked(recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &size), "recvfrom");
		if (number > WARM)
			END(640);
		if (!bytes)
			return 0;
		if (number >= WARM)
			BEGIN(640);
		checked(sendto(fd, buffer, bytes, 0, (struct sockaddr *)&from, size), "sendto");
	}
}
