# SPDX-License-Identifier: GPL-2.0
# Mounts the folders of the host that words of the command line name, folder=NAME:ro|rw:PATH, below the first argument. In the
# shell's root file system this is a part of /etc/rc.
mount_folders() {
    root=$1
    shift
    for word; do
        case $word in folder=*) name=${word#folder=} ;; *) continue ;; esac
        place=$root${name#*:*:}
        rights=${name#*:}
        rights=${rights%%:*}
        mkdir -p "$place" && case $(cd "$place" && pwd -P) in "$root"/*) ;; *) false ;; esac &&
            mount -t 9p -o "trans=l4,version=9p2000.L,msize=32768,nosuid,nodev,$rights" "${name%%:*}" "$place" ||
            echo "${name#*:*:} is no folder of the host: it cannot be mounted there"
    done
}
