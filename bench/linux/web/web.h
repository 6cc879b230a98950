/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef WEB_H
#define WEB_H

/* What the responder says and the client expects. */
#define BODY	"Hello, world\n"

int responder(void);
int client(void);

#endif
