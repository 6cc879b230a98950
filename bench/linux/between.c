// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * TCP between two Linuxes of one switch: an interval for bytes from the other Linux, and one for bytes within a Linux
 * by the loopback interface. `between serve` sends them, in both.
 */
#include "receive.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The address of the second client of a switch without a card (user/serv/switch). */
#define OTHER	"fe80::4d:63ff:fe61:6401"
#define PORT	5003

static struct sockaddr_in6 address(const char *text)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	if (inet_pton(AF_INET6, text, &at.sin6_addr) != 1)
		die(text);
	at.sin6_scope_id = if_nametoindex("eth0");
	return at;
}

/* Sends for ever to each client that connects. */
static void serve(int listening)
{
	int fd;

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		fd = checked(accept(listening, NULL, NULL), "accept");
		if (!checked(fork(), "fork")) {
			while (write(fd, buffer, sizeof buffer) > 0)
				;
			_exit(0);
		}
		close(fd);
	}
}

static int listen_here(void)
{
	struct sockaddr_in6 here = address("::");
	int fd = checked(socket(AF_INET6, SOCK_STREAM, 0), "socket");

	checked(bind(fd, (struct sockaddr *)&here, sizeof here), "bind");
	checked(listen(fd, 8), "listen");
	return fd;
}

/* The other Linux may not have begun to serve. */
static int connect_to(const char *text)
{
	struct sockaddr_in6 to = address(text);
	int fd;

	for (;;) {
		fd = checked(socket(AF_INET6, SOCK_STREAM, 0), "socket");
		if (!connect(fd, (struct sockaddr *)&to, sizeof to))
			return fd;
		close(fd);
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	int fd, listening = listen_here(), child;

	if (argc == 2 && !strcmp(argv[1], "serve"))
		serve(listening);
	child = checked(fork(), "fork");
	if (!child)
		serve(listening);
	close(listening);
	fd = connect_to("::1");
	receive(fd, WARM);
	BEGIN(603);
	receive(fd, BYTES);
	END(603);
	close(fd);
	/* Linux alone has no other one. */
	if (if_nametoindex("eth0")) {
		fd = connect_to(OTHER);
		receive(fd, WARM);
		BEGIN(602);
		receive(fd, BYTES);
		END(602);
		close(fd);
	}
	kill(child, SIGKILL);
	return 0;
}
