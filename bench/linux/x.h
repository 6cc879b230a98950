/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a client of an X server needs that speaks the protocol itself: a connection, requests and replies. Numbers and layouts are those of
 * the protocol's definition (X Window System Protocol, version 11; appendix B).
 */
#ifndef X_H
#define X_H

#include "measure.h"
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Requests. */
enum { X_CREATE_WINDOW = 1, X_MAP_WINDOW = 8, X_CHANGE_PROPERTY = 18, X_GET_PROPERTY = 20, X_QUERY_POINTER = 38,
       X_GET_INPUT_FOCUS = 43, X_CREATE_GC = 55, X_POLY_POINT = 64, X_POLY_FILL_RECTANGLE = 70, X_PUT_IMAGE = 72, X_GET_IMAGE = 73 };
/* What they are about. */
enum { X_STRING = 31, X_WM_NAME = 39, X_ORIGIN = 0, X_Z_PIXMAP = 2, X_INPUT_OUTPUT = 1, X_FOREGROUND = 1 << 2,
       X_OVERRIDE_REDIRECT = 1 << 9 };
/* What is the same in each reply. */
enum { X_REPLY = 1, X_REPLY_BYTES = 32 };

/* A request's first word, and a word of two numbers. */
#define X_HEAD(code, data, words)	((code) | (uint32_t)(data) << 8 | (uint32_t)(words) << 16)
#define X_PAIR(low, high)		((uint16_t)(low) | (uint32_t)(uint16_t)(high) << 16)

/* The server; of the screen the window of all, and the first name that this client may give. */
static int x_server;
static uint32_t x_root, x_base;
/* Its last answer. */
static union {
	uint32_t words[16384];
	uint16_t halves[32768];
	uint8_t bytes[65536];
} x_in;

static inline void x_get(unsigned at, unsigned bytes)
{
	if (at + bytes > sizeof x_in) {
		fprintf(stderr, "an answer of %u bytes\n", bytes);
		exit(1);
	}
	while (bytes) {
		int n = checked(read(x_server, x_in.bytes + at, bytes), "read");

		if (!n) {
			fprintf(stderr, "the server has ended\n");
			exit(1);
		}
		at += n;
		bytes -= n;
	}
}

static inline void x_put(const void *request, unsigned bytes)
{
	if (write(x_server, request, bytes) != (int)bytes)
		die("write");
}

/* What the server answers to all that was put before. Nothing but the reply may come: no event is asked for. */
static inline void x_answer(void)
{
	x_get(0, X_REPLY_BYTES);
	if (x_in.bytes[0] != X_REPLY) {
		fprintf(stderr, "instead of a reply: %u %u, of request %u\n", x_in.bytes[0], x_in.bytes[1], x_in.bytes[10]);
		exit(1);
	}
	x_get(X_REPLY_BYTES, x_in.words[1] * 4);
}

static inline void x_ask(const void *request, unsigned bytes)
{
	x_put(request, bytes);
	x_answer();
}

/* Waits until all previous requests are carried out. */
static inline void x_settle(void)
{
	uint32_t request[] = { X_HEAD(X_GET_INPUT_FOCUS, 0, 1) };

	x_ask(request, sizeof request);
}

/* Connects to the server of `DISPLAY`, over its socket. */
static inline void x_open(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct {
		uint8_t order, unused;
		uint16_t major, minor, name_bytes, data_bytes, pad;
	} hello = { .order = 'l', .major = 11 };
	const char *display = getenv("DISPLAY");

	if (!display || *display++ != ':') {
		fprintf(stderr, "DISPLAY is to be a number after a colon\n");
		exit(1);
	}
	snprintf(to.sun_path, sizeof to.sun_path, "/tmp/.X11-unix/X%s", display);
	x_server = checked(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	checked(connect(x_server, (struct sockaddr *)&to, sizeof to), to.sun_path);
	x_put(&hello, sizeof hello);
	x_get(0, 8);
	if (x_in.bytes[0] != 1) {
		fprintf(stderr, "the server refuses a connection\n");
		exit(1);
	}
	x_get(8, x_in.halves[3] * 4);
	x_base = x_in.words[3];
	/* After the vendor's name and the formats comes the first screen. */
	x_root = x_in.words[(40 + (x_in.halves[12] + 3) / 4 * 4 + x_in.bytes[29] * 8) / 4];
}

/* Makes and shows a window that no window manager moves, and a context to draw in it. */
static inline void x_open_window(uint32_t window, uint32_t context, int width, int height, uint32_t colour)
{
	uint32_t create[] = {
		X_HEAD(X_CREATE_WINDOW, 0, 9), window, x_root, X_PAIR(2, 2), X_PAIR(width, height), X_PAIR(1, X_INPUT_OUTPUT), 0,
		X_OVERRIDE_REDIRECT, 1,
	};
	uint32_t map[] = { X_HEAD(X_MAP_WINDOW, 0, 2), window };
	uint32_t create_gc[] = { X_HEAD(X_CREATE_GC, 0, 5), context, window, X_FOREGROUND, colour };

	x_put(create, sizeof create);
	x_put(map, sizeof map);
	x_put(create_gc, sizeof create_gc);
	x_settle();
}

#endif
