#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# full.sh [podman]: what an administrator asks of a Debian with the configuration `full`, as root. A line for each check, and
# the exit status says whether all passed. With the argument podman runs a container, too.
failed=0

# check NAME EXPECTED COMMAND: the command prints just that.
check() {
    said=$(eval "$3" 2>&1)
    if [ "$said" = "$2" ]; then
        echo "ok $1"
    else
        echo "not ok $1: $said"
        failed=1
    fi
}

# In a unit of its own, with what it prints.
unit() { systemd-run --quiet --wait --pipe --collect "$@"; }
as_guest() { runuser -u guest -- "$@"; }
# Takes N MiB and looks at them.
take() { echo "python3 -c 'a = b\"x\" * ($1 << 20); print(a.count(b\"x\") >> 20)'"; }

useradd -m guest
mkdir -p /srv/a /srv/b /srv/up /srv/merged /srv/bundle
cd /srv
truncate -s 32M disk
mkfs.ext4 -q -O quota disk

# Limits of units.
check memory 'Result=oom-kill' "systemd-run --quiet --wait -p MemoryMax=20M -p MemorySwapMax=0 -u hungry $(take 50); systemctl show -p Result hungry"
check memory.enough 50 "unit -p MemoryMax=80M $(take 50)"
# What the kernel allocates for a user's sockets counts, too.
check memory.filters '# user, filters: 0, then Killed' 'unit -p MemoryMax=40M -p MemorySwapMax=0 -p OOMPolicy=continue bombs filters'
check pids 'Cannot fork' "unit -p TasksMax=5 sh -c 'for i in 1 2 3 4 5 6; do sleep 60 & done' 2>&1 | grep -o 'Cannot fork'"
check cpu 1 "unit -p CPUQuota=20% sh -c 'i=0; while [ \$i -lt 200000 ]; do i=\$((i + 1)); done; grep -c \"nr_throttled [1-9]\" /sys/fs/cgroup\$(cut -d : -f 3 /proc/self/cgroup)/cpu.stat'"
check cpu.weight 30 "unit -p CPUWeight=30 sh -c 'cat /sys/fs/cgroup\$(cut -d : -f 3 /proc/self/cgroup)/cpu.weight'"
check pressure 2 'grep -c avg10 /proc/pressure/memory'
check bpf '100% packet loss' "unit -p IPAddressDeny=any ping -c 1 -W 1 127.0.0.1 | grep -o '100% packet loss'"

# Capabilities of files and ACLs: the image was made with them, and takes more.
check capabilities '/usr/bin/ping cap_net_raw=ep' 'getcap /usr/bin/ping'
sysctl -q net.ipv4.ping_group_range='1 0'
check ping '1 packets transmitted, 1 received, 0% packet loss' "as_guest ping -c 1 127.0.0.1 | grep -o '.* packet loss'"
check acl 'user:guest:r--
secret' 'echo secret > acl; chmod 600 acl; setfacl -m u:guest:r acl; getfacl -cp acl | grep guest; as_guest cat acl'

# File systems.
check loop 'kept' 'mount disk a; echo kept > a/x; umount a; mount -o ro disk a; cat a/x; umount a'
check fuse 'kept' 'fuse2fs -o ro disk a > /dev/null; cat a/x; umount a'
check quota 'Disk quota exceeded' "mount -o usrquota disk a; mkdir -m 777 a/all; setquota -u guest 0 1000 0 0 a; as_guest dd if=/dev/zero of=a/all/x bs=1k count=2000 2>&1 | grep -o 'Disk quota.*'; rm -r a/all; umount a"
check vfat 'A long Name.txt' 'truncate -s 16M fat; mkfs.vfat fat > /dev/null; mount fat a; touch "a/A long Name.txt"; umount a; mount fat a; ls a; umount a'
check squashfs 'root:x:0:0' 'mksquashfs /etc/passwd etc.squash -quiet -no-progress; mount etc.squash a; grep -o root:x:0:0 a/passwd; umount a'
check iso9660 1 'grep -c iso9660 /proc/filesystems'
check overlay 'changed
lower' 'mount -t tmpfs tmpfs up; mkdir up/upper up/work; echo lower > b/x; mount -t overlay overlay -o lowerdir=b,upperdir=up/upper,workdir=up/work merged; echo changed > merged/x; cat merged/x b/x; umount merged up'
check swap '50
used' "dd if=/dev/zero of=swap bs=1M count=64 status=none; chmod 600 swap; mkswap swap > /dev/null; swapon swap; unit -p MemoryMax=20M $(take 50); awk '/^pswpout/ { print (\$2 > 5000) ? \"used\" : \"unused\" }' /proc/vmstat; swapoff swap"

# Containers of Debian's packages: the root file system is this one's, with what the container writes apart.
# Where a container has its own network, it finds this Linux's SSH server by a pair of joined devices.
ip netns add box
ip link add v1 type veth peer name eth0 netns box
ip addr add 10.8.0.1/24 dev v1
ip link set v1 up
ip -n box addr add 10.8.0.2/24 dev eth0
ip -n box link set eth0 up
cat > probe <<'PROBE'
sed -n 's/ *\(.*\):.*/\1/p' /proc/net/dev | sort | xargs
IFS=- read -r protocol rest < /dev/tcp/10.8.0.1/22 && echo $protocol
PROBE
mount -t tmpfs tmpfs up
mkdir up/upper up/work
mount -t overlay overlay -o lowerdir=/,upperdir=/srv/up/upper,workdir=/srv/up/work merged
nspawn='systemd-nspawn --quiet --register=no --link-journal=no --pipe -D merged'
check nspawn 'Status: install ok installed
lo
written' "$nspawn --private-network sh -c 'dpkg -s bash | grep ^Status; ls /sys/class/net; echo written > /root/note; cat /root/note' < /dev/null"
check nspawn.network 'eth0 lo
SSH' "$nspawn --network-namespace-path=/run/netns/box bash /srv/probe < /dev/null"
cat > bundle/spec.py <<'PYTHON'
import json, sys
spec = json.load(open("config.json"))
spec["process"]["terminal"] = False
spec["process"]["args"] = sys.argv[1:]
spec["root"] = {"path": "/srv/merged", "readonly": True}
spec["linux"]["resources"] = {"memory": {"limit": 100 << 20}, "pids": {"limit": 20}}
if "/srv/probe" in sys.argv:
    for namespace in spec["linux"]["namespaces"]:
        if namespace["type"] == "network":
            namespace["path"] = "/run/netns/box"
json.dump(spec, open("config.json", "w"))
PYTHON
check crun "1
/proc/1
Status: install ok installed
crun
written
touch: cannot touch '/root/x': Read-only file system" 'cd bundle && crun spec && python3 spec.py sh -c "echo \$\$; ls -d /proc/[0-9]* | head -n 1; dpkg -s bash | grep ^Status; hostname; cat /root/note; touch /root/x" && crun run box; cd ..'
check crun.network 'eth0 lo
SSH' 'cd bundle && rm config.json && crun spec && python3 spec.py bash /srv/probe && crun run box; cd ..'
[ "$1" != podman ] || check podman 'eth0 lo
SSH' 'podman --cgroup-manager=cgroupfs --log-level=error run --rm --network=ns:/run/netns/box --rootfs /srv/merged bash /srv/probe'
check bubblewrap "0
2
lo
Status: install ok installed" "as_guest bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --uid 0 sh -c 'id -u; echo \$\$; sed -n \"s/ *\(.*\):.*/\1/p\" /proc/net/dev; dpkg-query -s bash | grep ^Status'"
umount merged up
ip netns delete box

# What programs ask the kernel for.
check config.gz 'CONFIG_MEMCG=y' 'zcat /proc/config.gz | grep ^CONFIG_MEMCG='
check io_uring True "python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(120)) > 0)'"
check keys True "python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(248 if ctypes.sizeof(ctypes.c_long) == 8 else 286, b\"user\", b\"name\", b\"secret\", 6, -3) > 0)'"
check binfmt_misc 'by its interpreter' "echo ':full:E::full::/bin/cat:' > /proc/sys/fs/binfmt_misc/register; echo by its interpreter > x.full; chmod +x x.full; ./x.full"

# The network.
check devices 'd0 v0 w0' 'ip link add d0 type dummy && ip link add v0 type vxlan id 7 dstport 4789 dev d0 && ip link add w0 type wireguard && for i in d0 v0 w0; do ip -br link show $i | cut -d @ -f 1 | cut -d " " -f 1; done | xargs'
check netem slow "tc qdisc add dev lo root netem delay 100ms; ping -c 1 -q 127.0.0.1 | awk -F / '/^rtt/ { print (\$5 >= 200) ? \"slow\" : \"fast\" }'; tc qdisc del dev lo root"
check queues 'tbf htb netem' 'for q in "tbf rate 1mbit burst 10k latency 50ms" htb "netem loss 1%"; do tc qdisc replace dev d0 root $q; tc qdisc show dev d0 | cut -d " " -f 2; done | xargs'
check bbr bbr 'sysctl -q net.ipv4.tcp_congestion_control=bbr; sysctl -n net.ipv4.tcp_congestion_control; sysctl -q net.ipv4.tcp_congestion_control=cubic'
check matches 3 "iptables -A OUTPUT -m owner --uid-owner guest -d 127.0.0.2 -j REJECT && iptables -A INPUT -m recent --name r --set && iptables -A INPUT -m string --algo bm --string xyzzy -j DROP && iptables -S | grep -c -e owner -e recent -e string"
check owner refused 'as_guest ping -c 1 -W 1 127.0.0.2 > /dev/null 2>&1 || echo refused; ping -c 1 -q 127.0.0.2 > /dev/null || echo root, too; iptables -F'
check set refused 'ipset create s hash:ip && ipset add s 127.0.0.3 && iptables -A OUTPUT -m set --match-set s dst -j REJECT; ping -c 1 -W 1 127.0.0.3 > /dev/null 2>&1 || echo refused; ping -c 1 -q 127.0.0.2 > /dev/null || echo others, too; iptables -F'
check wireguard '0% packet loss' 'umask 077; for n in 1 2; do wg genkey > key$n; ip netns add n$n; ip link add w$n type wireguard; ip link set w$n netns n$n; done
for n in 1 2; do o=$((3 - n)); ip netns exec n$n wg set w$n listen-port 5182$n private-key key$n peer $(wg pubkey < key$o) allowed-ips 10.9.0.0/24 endpoint 127.0.0.1:5182$o; ip -n n$n addr add 10.9.0.$n/24 dev w$n; ip -n n$n link set w$n up; done
ip netns exec n1 ping -c 1 -W 5 10.9.0.2 | grep -o "0% packet loss"'

check quiet '' 'dmesg --level=emerg,alert,crit'
exit $failed
