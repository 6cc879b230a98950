// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * TCP by the network card: an interval each for bytes from the host and to it. The host's ends are programs of the emulator's
 * user network at 10.0.2.100: port 5001 sends for ever, port 5002 takes everything.
 */
#include "measure.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WARM	(1 << 20)
/* The labels of bench/sections/6-network.toml have this number. */
#define BYTES	(4 << 20)

static char buffer[65536];

static int open_port(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");

	to.sin_addr.s_addr = inet_addr("10.0.2.100");
	checked(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	return fd;
}

static void receive(int fd, int bytes)
{
	while (bytes > 0) {
		int n = checked(read(fd, buffer, bytes < (int)sizeof buffer ? bytes : (int)sizeof buffer), "read");

		if (!n) {
			fprintf(stderr, "the host has ended the connection\n");
			exit(1);
		}
		bytes -= n;
	}
}

static void transmit(int fd, int bytes)
{
	while (bytes > 0)
		bytes -= checked(write(fd, buffer, bytes < (int)sizeof buffer ? bytes : (int)sizeof buffer), "write");
}

int main(void)
{
	int fd = open_port(5001);

	receive(fd, WARM);
	BEGIN(600);
	receive(fd, BYTES);
	END(600);
	close(fd);
	fd = open_port(5002);
	memset(buffer, 'x', sizeof buffer);
	transmit(fd, WARM);
	BEGIN(601);
	transmit(fd, BYTES);
	END(601);
	close(fd);
	return 0;
}
