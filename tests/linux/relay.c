// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * relay PORT PATH: what http://10.0.2.2:PORT/PATH is, on standard output, as it comes through pages that nobody copies: from the
 * socket into a pipe, from that into a connection of the loopback interface, whose reader is slow, and by another pipe out of it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE	65536

static int checked(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
	return result;
}

/* Up to the end of the first; how many bytes. */
static long pass(int from, int to)
{
	int pipes[2], n;
	long all = 0;

	checked(pipe(pipes), "pipe");
	while ((n = checked(splice(from, NULL, pipes[1], NULL, PIECE, 0), "splice from")) > 0)
		for (all += n; n > 0;)
			n -= checked(splice(pipes[0], NULL, to, NULL, n, 0), "splice to");
	return all;
}

/* The same by read(), out of a pipe that was filled by splice(). */
static void drain(int from)
{
	static char piece[PIECE];
	int pipes[2], n, got;

	checked(pipe(pipes), "pipe");
	while ((n = checked(splice(from, NULL, pipes[1], NULL, PIECE, 0), "splice from")) > 0)
		for (; n > 0; n -= got) {
			got = checked(read(pipes[0], piece, n), "read");
			checked(write(STDOUT_FILENO, piece, got) == got ? 0 : -1, "write");
			sched_yield();
		}
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET }, own = { .sin_family = AF_INET };
	socklen_t length = sizeof own;
	int source, listener, writer, reader;
	char request[256], byte;
	int end = 0, status;

	if (argc != 3)
		return 2;
	to.sin_port = htons(atoi(argv[1]));
	to.sin_addr.s_addr = inet_addr("10.0.2.2");
	source = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
	checked(connect(source, (struct sockaddr *)&to, sizeof to), "connect");
	snprintf(request, sizeof request, "GET /%s HTTP/1.0\r\n\r\n", argv[2]);
	checked(write(source, request, strlen(request)), "request");
	/* Headers end with an empty line. */
	while (end < 4 && checked(read(source, &byte, 1), "headers") == 1)
		end = byte == "\r\n\r\n"[end] ? end + 1 : byte == '\r';
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
	checked(bind(listener, (struct sockaddr *)&own, sizeof own), "bind");
	checked(listen(listener, 1), "listen");
	checked(getsockname(listener, (struct sockaddr *)&own, &length), "getsockname");
	writer = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
	checked(connect(writer, (struct sockaddr *)&own, sizeof own), "connect");
	reader = checked(accept(listener, NULL, NULL), "accept");
	if (!checked(fork(), "fork")) {
		close(reader);
		pass(source, writer);
		_exit(0);
	}
	close(writer);
	drain(reader);
	checked(wait(&status), "wait");
	return status != 0;
}
