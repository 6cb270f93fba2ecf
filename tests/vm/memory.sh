#!/bin/busybox sh
# Limits of memory in control groups of version 2 (spec L163). `cargo xtask vm` runs it as the first process of a
# machine of its own. Each line `ok` or `not ok` is a check; the last line says that all have been made.
set -u
export PATH=/bin:/sbin HOME=/root TMPDIR=/tmp
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
/bin/busybox mkdir -p /sbin /proc /sys /dev /tmp /root /home/user /run /var
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chmod 1777 /tmp /dev/shm
ip link set lo up
hostname vm
groups=/sys/fs/cgroup

check() { # NAME COMMAND...
    name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; cat /tmp/out; fi
}
run() { # COMMAND...: its output is in /tmp/out, its code in $code
    "$@" >/tmp/out 2>&1
    code=$?
}
says() { tr '\n' ' ' </tmp/out | grep -q -- "$1"; }
ends_with() { test "$code" = "$1"; }
no_groups() { # the guard may still be at it
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        test -z "$(find "$groups" -name 'ferrite-*')" && return 0
        sleep 0.2
    done
    find "$groups" -name 'ferrite-*'
    return 1
}
hog() { echo "dd if=/dev/zero of=/dev/null bs=200M count=1"; }

# The root of all groups.
run prterun -n 1 --mem 64M $(hog)
check "a process that takes more than it may is ended" ends_with 137
check "its end is explained" says "used more than its 64 MiB of memory (--mem)"
check "nothing is left of its group" no_groups
run prterun -n 2 --mem 400M $(hog)
check "a process that takes less is left alone" ends_with 0
run prterun -n 1 --mem 64M sh -c "$(hog); exit 0"
check "children count" says "It, or a process that it had started, used more than"
run prterun -n 1 $(hog)
check "without --mem nothing is limited" ends_with 0
check "and no group is made" no_groups

check "the root of all groups is as it was" test -z "$(cat $groups/cgroup.subtree_control)"

# The root of all groups on a system that limits memory anyway.
echo +memory >$groups/cgroup.subtree_control
run prterun -n 1 --mem 64M $(hog)
check "memory is limited beside what the system does" ends_with 137
check "and nothing is left" no_groups
check "of the system nothing is changed" test "$(cat $groups/cgroup.subtree_control)" = memory

# A group that is given to a user, as systemd does.
mkdir "$groups/given"
chown -R user "$groups/given"
cat >/tmp/as_user <<'END'
echo $$ >/sys/fs/cgroup/given/cgroup.procs || exit 90
exec su user -c "$*"
END
chmod 755 /tmp/as_user
run sh /tmp/as_user "prterun -n 1 --mem 64M $(hog)"
check "a group that was given to a user is divided" ends_with 137
check "there too the end is explained" says "used more than its 64 MiB of memory"
check "and put together again" no_groups
check "as it was" test -z "$(cat $groups/given/cgroup.subtree_control)"
run sh /tmp/as_user "prterun -n 1 --mem 400M cat /proc/self/cgroup; cat /proc/self/cgroup"
check "the process has a group of its own" says "/given/ferrite-[0-9]*-1-0"
check "the shell comes back" grep -q "^0::/given$" /tmp/out

run sh /tmp/as_user "prterun -n 1 --mem 400M sleep 1 & prterun -n 1 --mem 400M sleep 2; prterun -n 1 --mem 400M true; wait"
check "several daemons share a group" test "$code$(cat /tmp/out)" = 0
check "and the last one puts it together" no_groups

# A daemon that is killed.
run sh /tmp/as_user "prte --daemonize --report-pid /tmp/pid; (prun -n 1 --mem 64M sleep 60 &) ; sleep 1; find $groups/given -name 'ferrite-*-1-0'; kill -9 \$(cat /proc/\$(cat /tmp/pid)/task/*/children); sleep 1"
check "the process of a DVM has a group" says "ferrite-[0-9]*-1-0"
check "nothing is left after kill -9" no_groups

# A group that is not given away.
mkdir "$groups/system"
cat >/tmp/as_user <<'END'
echo $$ >/sys/fs/cgroup/system/cgroup.procs || exit 90
exec su user -c "$*"
END
run sh /tmp/as_user "prterun -n 1 --mem 400M $(hog)"
check "without a group of its own a job runs" ends_with 0
check "and is told that its memory is not limited" says "Memory (--mem) is counted and not limited on node vm"
echo "all checks are made"
poweroff -f
