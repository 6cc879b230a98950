# SPDX-License-Identifier: GPL-2.0
# Runs what /run/batch asks for, for the one who started this system, and ends it.
if [ -e /dev/macadamia/batch ]; then
    exec 9> /dev/macadamia/batch
    echo >&9
    # What the command left running keeps file systems busy until it is gone.
    kill -9 -1
    for try in $(seq 100); do
        mounted=$(sed -n 's,^/dev/[^ ]* \([^ ]*\) .*,\1,p' /proc/mounts)
        [ -n "$mounted" ] && ! umount $mounted 2> /dev/null || break
    done
else
    # Linux alone: the console has to do.
    echo 0 > /proc/self/oom_score_adj
    echo 'batch begins'
    sh /run/batch/command < /dev/null
    echo "batch ends: $?"
    # A serial line may send by a timer, and a reset loses what was not sent yet. To set a line waits for that.
    stty sane < /dev/console
    # Not every board can switch itself off: its emulator ends at a reset.
    reboot -f
fi
poweroff -f
