# enter.sh ROOT SOURCE COMMAND...: run the command in new mount and process namespaces whose root is the folder ROOT,
# with SOURCE at /src. podman needs a real root: in a mere chroot its containers' commands see this machine's files.
set -eu
root=$1 source=$2
shift 2
mount --make-rprivate /
mount --rbind "$root" "$root"
mount --bind "$source" "$root/src"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" 2>/dev/null || mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
for wheels in ${PIP_FIND_LINKS:-}; do
  [ ! -d "$wheels" ] || { mkdir -p "$root$wheels" && mount --bind "$wheels" "$root$wheels"; }
done
cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
ulimit -n 20000
ip link set lo up
exec /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  DOCKER_HOST=unix:///run/podman.sock "$@"
