// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * relay PORT PATH: prints http://10.0.2.2:PORT/PATH twice, both times through pages that are not copied: first from
 * the socket into a pipe; then from the pipe into a connection of the loopback interface, whose reader is slow, and
 * out of it by another pipe.
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

/* Up to the end of the first. */
static void pass(int from, int to)
{
	int pipes[2], n;

	checked(pipe(pipes), "pipe");
	while ((n = checked(splice(from, NULL, pipes[1], NULL, PIECE, 0), "splice from")) > 0)
		while (n > 0)
			n -= checked(splice(pipes[0], NULL, to, NULL, n, 0), "splice to");
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

/* A connection on which the file comes next. */
static int request(int port, const char *path)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = checked(socket(AF_INET, SOCK_STREAM, 0), "socket"), end = 0;
	char text[256], byte;

	to.sin_addr.s_addr = inet_addr("10.0.2.2");
	checked(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	snprintf(text, sizeof text, "GET /%s HTTP/1.0\r\n\r\n", path);
	checked(write(fd, text, strlen(text)), "request");
	/* Headers end with an empty line. */
	while (end < 4 && checked(read(fd, &byte, 1), "headers") == 1)
		end = byte == "\r\n\r\n"[end] ? end + 1 : byte == '\r';
	return fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	socklen_t length = sizeof own;
	int source, listener, writer, reader, status;

	if (argc != 3)
		return 2;
	source = request(atoi(argv[1]), argv[2]);
	drain(source);
	close(source);
	source = request(atoi(argv[1]), argv[2]);
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
	close(source);
	close(writer);
	drain(reader);
	checked(wait(&status), "wait");
	return status != 0;
}
