#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# What a folder of the host is to programs: /mnt/work may be written, /mnt/kept may not.
set -e
fail() {
    echo "not so: $*"
    exit 1
}
grep -q '^folder-1 /mnt/work 9p rw,' /proc/mounts || fail "/mnt/work is mounted"
grep -q '^folder-2 /mnt/kept 9p ro,' /proc/mounts || fail "/mnt/kept is mounted"

# What the host wrote, and what is written here.
cd /mnt/work
[ "$(cat inside)" = inside ] || fail "the host's file can be read"
[ "$(cat below/inside)" = inside ] || fail "the folder has folders"
echo new > file
echo more >> file
[ "$(cat file)" = "$(printf 'new\nmore')" ] || fail "a file has what was written"
: > empty
[ ! -s empty ] || fail "a file may be empty"
printf 12345 > cut
dd if=/dev/zero of=cut bs=1 seek=3 count=0 2> /dev/null
[ "$(cat cut)" = 123 ] || fail "a file can be cut"

# Names.
mkdir -p one/two
mv file one/two/moved
mv one/two other
[ "$(wc -l < other/moved)" = 2 ] || fail "a file is where it was moved to"
echo over > over
mv over other/moved
[ "$(cat other/moved)" = over ] || fail "a file takes the place of another"
! mv one other/moved 2> /dev/null || fail "a folder takes no file's place"
rmdir one
ln other/moved hard
echo changed > hard
[ "$(cat other/moved)" = changed ] || fail "a file may have two names"
[ "$(stat -c %h hard)" = 2 ] || fail "two names are counted"

# Owners and rights.
[ "$(stat -c %u inside)" = "$(stat -c %u hard)" ] || fail "new files are the host user's"
chmod 4750 hard
[ "$(stat -c %a hard)" = 750 ] || fail "rights are kept, and no rights of an owner are given away"
! mknod device c 1 3 2> /dev/null || fail "no device is made"

# A file that has no name any more.
echo kept > gone
exec 3< gone 4>> gone
rm gone
[ ! -e gone ] || fail "a file is gone"
echo and more >&4
[ "$(cat <&3)" = "$(printf 'kept\nand more')" ] || fail "what is open is there"
exec 3<&- 4>&-

# Links lead where they lead here, and not on the host.
! cat link 2> /dev/null || fail "a link leads out"
! cat absolute-link 2> /dev/null || fail "an absolute link leads out"
! ls folder-link/ 2> /dev/null || fail "a link to a folder leads out"
[ "$(readlink link)" = ../outside/inside ] || fail "a link can be read"
ln -s /etc/hostname-here own
echo here > /etc/hostname-here
[ "$(cat own)" = here ] || fail "a link leads where it leads here"
ls ../.. > /dev/null
[ ! -e ../outside ] || fail "the folder above is Linux's"

# Much.
dd if=/dev/urandom of=/tmp/large bs=1M count=8 2> /dev/null
for part in 1 2 3; do cat /tmp/large; done > large
for part in 1 2 3; do cat /tmp/large; done | cmp - large || fail "a large file is what was written"
rm /tmp/large
mkdir many
for number in $(seq 10000); do echo $number > many/$number; done
[ "$(ls many | wc -l)" = 10000 ] || fail "ten thousand files are there"
[ "$(find many -type f | xargs cat | sort -n | uniq | wc -l)" = 10000 ] || fail "ten thousand files are read"
rm -r many

# The host's word on read-only.
cd /mnt/kept
[ "$(cat inside)" = inside ] || fail "what is read-only can be read"
for try in 1 2; do
    ! echo new 2> /dev/null > new || fail "a file is made"
    ! echo new 2> /dev/null > inside || fail "a file is written"
    ! mkdir new 2> /dev/null || fail "a folder is made"
    ! rm -f inside 2> /dev/null || fail "a file is removed"
    ! mv inside new 2> /dev/null || fail "a file is moved"
    ! chmod 777 inside 2> /dev/null || fail "rights are changed"
    [ "$(cat inside)" = inside ] || fail "nothing is changed"
    # Linux itself does not mind any more.
    mount -o remount,rw /mnt/kept
done
cd /
echo all is so
