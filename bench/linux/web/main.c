// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Both ends of a web server with FastCGI: `web responder` answers the server, `web client` asks it.
 */
#include "web.h"
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "responder"))
		return responder();
	if (argc == 2 && !strcmp(argv[1], "client"))
		return client();
	return 2;
}
