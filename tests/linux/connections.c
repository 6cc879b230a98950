// SPDX-License-Identifier: MIT OR Apache-2.0
// Many connections at once: `connections ADDRESS PORT COUNT` opens all of them, asks for / on each when all are open, reads every
// answer to its end, and prints how many connections there were and the bytes that came by all of them, if they were as many on each.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what, int number)
{
	fprintf(stderr, "connection %d: ", number);
	perror(what);
	exit(1);
}

int main(int count, char **arguments)
{
	if (count != 4)
		return 2;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(arguments[2])) };
	inet_pton(AF_INET, arguments[1], &to.sin_addr);
	int connections = atoi(arguments[3]);
	struct rlimit files = { .rlim_cur = connections + 16, .rlim_max = connections + 16 };
	setrlimit(RLIMIT_NOFILE, &files);
	int *all = calloc(connections, sizeof *all);
	for (int i = 0; i < connections; i++) {
		all[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (all[i] < 0 || connect(all[i], (struct sockaddr *)&to, sizeof to))
			fail("connect", i);
	}
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	for (int i = 0; i < connections; i++)
		if (write(all[i], request, strlen(request)) != (ssize_t)strlen(request))
			fail("write", i);
	long each = 0;
	for (int i = 0; i < connections; i++) {
		char buffer[4096];
		long bytes = 0, part;
		while ((part = read(all[i], buffer, sizeof buffer)) > 0)
			bytes += part;
		if (part < 0)
			fail("read", i);
		if (i && bytes != each) {
			fprintf(stderr, "connection %d: %ld bytes instead of %ld\n", i, bytes, each);
			return 1;
		}
		each = bytes;
		close(all[i]);
	}
	printf("%d connections, %ld bytes each\n", connections, each);
}
