#!/bin/sh
# Runs commands on a separate systemd: process 1 of new namespaces, over a copy-on-write view of this machine's
# files in memory. The service is installed there as in docs/operating.md. As root, in the checkout:
#   unshare --mount --pid --fork --cgroup --ipc --uts --kill-child sh test/systemd/machine.sh FOLDER
# Runs FOLDER/commands; their output is in FOLDER/output, the log of the service in FOLDER/log.
set -eu
PATH=$PATH:/usr/sbin:/sbin
folder=$1
root=$folder/root
units=$root/etc/systemd/system

mount --make-rprivate /
mkdir "$root" "$folder/memory"
mount -t tmpfs tmpfs "$folder/memory"
mkdir "$folder/memory/upper" "$folder/memory/work"
mount -t overlay overlay "$root" \
  -o "lowerdir=/,upperdir=$folder/memory/upper,workdir=$folder/memory/work"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --bind "$folder" "$root$folder"

# A checkout without node_modules, which are mounted: copies of them would fill the memory.
name=plant-store-$(node --print 'require("./package.json").version')
mkdir -p "$folder/$name/node_modules"
cp -r bin deploy dist docs package.json "$folder/$name/"
DESTDIR=$root "$folder/$name/deploy/systemd/install"
mount --bind node_modules "$root/opt/$name/node_modules"
mkdir "$units/plant-store.service.d"
cat >"$units/plant-store.service.d/test.conf" <<UNIT
[Unit]
DefaultDependencies=no
[Service]
StandardOutput=append:$folder/log
StandardError=append:$folder/log
UNIT

# Starts no other service of this machine.
rm -f "$units/default.target"
cat >"$units/default.target" <<UNIT
[Unit]
DefaultDependencies=no
Wants=commands.service
UNIT
cat >"$units/commands.service" <<UNIT
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/sh -c 'systemd-sysusers 2>/dev/null; . $folder/commands; systemctl exit 0'
StandardOutput=append:$folder/output
StandardError=append:$folder/output
UNIT

cd "$root"
mkdir old
pivot_root . old
umount -l old
exec env -i PATH="$PATH" container=other /lib/systemd/systemd --system --log-target=null
