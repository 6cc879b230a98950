// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A FastCGI responder that says hello. It is started as the protocol requires: file descriptor 0 is the socket that
 * listens.
 */
#include "web.h"
#include "../measure.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VERSION		1
#define BEGIN_REQUEST	1
#define END_REQUEST	3
#define STDIN		5
#define STDOUT		6
#define KEEP_CONNECTION	1

/* A record's head; numbers have the high byte first. */
struct head {
	unsigned char version, type, id[2], length[2], padding, reserved;
};

/* A complete answer: the text, the end of the text, the end of the request. */
static struct {
	struct head out;
	char text[sizeof("Content-Type: text/plain\r\n\r\n" BODY) - 1];
	struct head out_ends;
	struct head end;
	unsigned char status[4], protocol_status, reserved[3];
} __attribute__((packed)) answer = {
	.out = { .version = VERSION, .type = STDOUT, .length = { 0, sizeof answer.text } },
	.text = "Content-Type: text/plain\r\n\r\n" BODY,
	.out_ends = { .version = VERSION, .type = STDOUT },
	.end = { .version = VERSION, .type = END_REQUEST, .length = { 0, 8 } },
};

_Static_assert(sizeof answer.text < 256, "its length is one byte here");

/* Whether all bytes came; the other side may end instead. */
static int get(int fd, void *to, int bytes)
{
	int done = 0, n;

	while (done < bytes && (n = checked(read(fd, (char *)to + done, bytes - done), "read")) > 0)
		done += n;
	return done == bytes;
}

/* One request. Returns whether there may be another. */
static int serve(int fd)
{
	static unsigned char content[65535 + 255];
	struct head head;
	int keep = 0;

	do {
		int length;

		if (!get(fd, &head, sizeof head))
			return 0;
		length = head.length[0] << 8 | head.length[1];
		if (!get(fd, content, length + head.padding))
			return 0;
		if (head.type == BEGIN_REQUEST)
			keep = content[2] & KEEP_CONNECTION;
	} while (head.type != STDIN || head.length[0] || head.length[1]);
	memcpy(answer.out.id, head.id, sizeof head.id);
	memcpy(answer.out_ends.id, head.id, sizeof head.id);
	memcpy(answer.end.id, head.id, sizeof head.id);
	return write(fd, &answer, sizeof answer) == sizeof answer && keep;
}

int responder(void)
{
	while (1) {
		int fd = checked(accept(0, NULL, NULL), "accept");

		while (serve(fd))
			;
		close(fd);
	}
}
