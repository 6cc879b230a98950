// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * TCP by the network card: an interval each for bytes from the host and to it. The host's ends are programs of the
 * emulator's user network at 10.0.2.100: port 5001 sends for ever, port 5002 takes everything. `stream MIB` measures
 * this many MiB by the clock instead, and prints a line for each direction: a name, and nanoseconds per MiB.
 */
#include "receive.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Begins and ends an interval, with the frames until then; reading their numbers takes less than a frame. */
#define BEGIN_FRAMES(id) do { in = statistic("rx_packets"); out = statistic("tx_packets"); BEGIN(id); } while (0)
#define END_FRAMES(id) do { in = statistic("rx_packets") - in; out = statistic("tx_packets") - out; END(id); } while (0)

static int open_port(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");

	to.sin_addr.s_addr = inet_addr("10.0.2.100");
	checked(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	return fd;
}

static void transmit(int fd, int bytes)
{
	while (bytes > 0)
		bytes -= checked(write(fd, buffer, bytes < (int)sizeof buffer ? bytes : (int)sizeof buffer), "write");
}

static int statistic(const char *name)
{
	char path[64], text[16] = "";
	int fd;

	snprintf(path, sizeof path, "/sys/class/net/eth0/statistics/%s", name);
	fd = checked(open(path, O_RDONLY), path);
	checked(read(fd, text, sizeof text - 1), path);
	close(fd);
	return atoi(text);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void by_the_clock(const char *name, int port, void (*move)(int fd, int bytes), int mib)
{
	int fd = open_port(port), i;
	long long begun;

	move(fd, WARM);
	begun = now();
	for (i = 0; i < mib; i++)
		move(fd, 1 << 20);
	printf("%s %lld\n", name, (now() - begun) / mib);
	close(fd);
}

int main(int argc, char **argv)
{
	int fd, in, out;

	memset(buffer, 'x', sizeof buffer);
	if (argc == 2) {
		by_the_clock("a-MiB-from-the-host", 5001, receive, atoi(argv[1]));
		by_the_clock("a-MiB-to-the-host", 5002, transmit, atoi(argv[1]));
		return 0;
	}
	fd = open_port(5001);
	receive(fd, WARM);
	BEGIN_FRAMES(600);
	receive(fd, BYTES);
	END_FRAMES(600);
	printf("600 %d %d\n", in, out);
	close(fd);
	fd = open_port(5002);
	transmit(fd, WARM);
	BEGIN_FRAMES(601);
	transmit(fd, BYTES);
	END_FRAMES(601);
	printf("601 %d %d\n", in, out);
	close(fd);
	return 0;
}
