#!/bin/sh
# Runs the unit of deploy/systemd under a real systemd: tests/conformance/systemd.sh PROGRAM. It boots a Debian from debootstrap
# in namespaces of its own, without network, and checks that the unit starts the program with all of its hardening, that it
# reloads, stops in time and begins again with what it stored. It needs root, debootstrap, a network to Debian's packages
# the first time, and cgroups of version 2; the system is kept in the cache.
set -eu
[ $# = 1 ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
root=${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/debian-systemd

if [ -z "${CATALOGQL_UNSHARED:-}" ]; then
  if [ ! -e "$root/usr/lib/systemd/systemd" ]; then
    rm -rf "$root" "$root.part"
    debootstrap --variant=minbase --include=systemd,dbus,curl,procps bookworm "$root.part"
    mv "$root.part" "$root"
  fi
  CATALOGQL_UNSHARED=1 exec unshare --mount --pid --fork --net --uts --ipc --cgroup --kill-child "$0" "$program"
fi

fail() {
  echo "error: $1" >&2
  exit 1
}
mount --make-rprivate /
mount --types tmpfs none /mnt
mkdir /mnt/root /mnt/changes /mnt/work
# What the run writes is forgotten with it.
mount --types overlay overlay --options "lowerdir=$root,upperdir=/mnt/changes,workdir=/mnt/work" /mnt/root
cd /mnt/root
install -D --mode=755 "$program" usr/local/bin/catalogql
install -D --mode=644 "$OLDPWD/deploy/systemd/catalogql.service" etc/systemd/system/catalogql.service
mkdir -p etc/catalogql srv/example
cp -r "$OLDPWD/examples/catalog/." srv/example
printf 'sources:\n  - name: example\n    source: /srv/example\n' >etc/catalogql/catalogs.yaml
mount --types proc proc proc
mount --types sysfs sysfs sys
mount --types cgroup2 cgroup2 sys/fs/cgroup
mount --types tmpfs tmpfs run
mount --types tmpfs --options mode=755 tmpfs dev
mkdir dev/shm dev/pts dev/mqueue dev/hugepages old
mknod --mode=666 dev/null c 1 3
mknod --mode=666 dev/zero c 1 5
mknod --mode=666 dev/full c 1 7
mknod --mode=666 dev/random c 1 8
mknod --mode=666 dev/urandom c 1 9
mknod --mode=666 dev/tty c 5 0
mount --types devpts --options newinstance,ptmxmode=0666 devpts dev/pts
ln --symbolic pts/ptmx dev/ptmx
for unit in systemd-logind.service systemd-networkd-wait-online.service getty.target; do
  ln --symbolic --force /dev/null "etc/systemd/system/$unit"
done
mkdir -p etc/systemd/system/multi-user.target.wants
ln --symbolic --force ../catalogql.service etc/systemd/system/multi-user.target.wants/catalogql.service
ip link set lo up

# systemd has to be the first process; what checks it is the second.
check() {
  answer() {
    curl --silent http://127.0.0.1:8080/graphql --header 'content-type: application/json' \
      --data '{"query":"{ packages { totalCount } }"}'
  }
  await() {
    tries=0
    until [ "$(answer)" = '{"data":{"packages":{"totalCount":5}}}' ]; do
      tries=$((tries + 1))
      [ $tries -lt 300 ] || { systemctl status catalogql --no-pager >&2; fail "the example is not served $1"; }
      sleep 0.1
    done
  }
  show() { systemctl show --property="$1" --value catalogql; }
  await 'after the boot'
  process=$(show MainPID)
  grep --quiet '^CapBnd:.0000000000000000$' "/proc/$process/status" || fail 'the program has capabilities'
  grep --quiet '^Seccomp:.2$' "/proc/$process/status" || fail 'system calls are not filtered'
  ! journalctl --unit=catalogql | grep --quiet '<jemalloc>' || fail "the allocator is refused something: $(journalctl --unit=catalogql | grep jemalloc | head -1)"
  systemctl reload catalogql || fail 'it does not reload'
  tries=0
  until journalctl --unit=catalogql | grep --quiet 'configuration reloaded'; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || fail 'the configuration is not reloaded'
    sleep 0.1
  done
  systemctl restart catalogql
  await 'after a restart'
  [ -n "$(ls /var/lib/private/catalogql/content)" ] || fail 'nothing is stored'
  systemctl stop catalogql
  [ "$(show Result) $(show ExecMainStatus)" = 'success 0' ] || fail "it ended with $(show Result) $(show ExecMainStatus)"
  systemd-analyze security --no-pager catalogql.service | tail -1
  echo 'the unit starts, reloads, restarts and stops the program'
}
pivot_root . old
cd /
umount --lazy old
mount --make-rshared /
(
  tries=0
  until systemctl is-active --quiet dbus 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || break
    sleep 0.1
  done
  result=0
  (check) || result=1
  systemctl exit $result
) &
exec env --ignore-environment container=other PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd --system \
  --unit=multi-user.target --show-status=no --log-target=null
