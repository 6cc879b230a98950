#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Starts an X server whose screen is memory, and a command when it can be asked: `x11.sh COMMAND ARGUMENT...`.
mkfifo /tmp/up
Xvfb :1 -screen 0 1024x768x24 -ac -noreset -displayfd 3 3> /tmp/up > /tmp/x.log 2>&1 &
# It writes the display's number; if it ends instead there is nothing to read.
read -r display < /tmp/up || {
    cat /tmp/x.log >&2
    exit 1
}
export DISPLAY=":$display"
exec "$@"
