# Runs in a fresh root without Rust: installs each package, runs jobs, removes it, and compares the files of the root
# with those before. /inputs has the packages and an MPI program. $TOOLS says whether the module files and the unit of
# systemd are tried with the programs that read them.
set -eu

say() { echo "dist: $1"; }
fail() {
    echo "dist: $1" >&2
    exit 1
}

# Log files and the caches of the package manager change with each package.
files() {
    find / -xdev \( -path /inputs -o -path /var/log -o -path /var/cache -o -path /var/lib/dpkg -o -path /tmp \
        -o -path /run -o -path /root -o -path /var/lib/rpm -o -path /usr/lib/sysimage \) -prune -o -print | LC_ALL=C sort
}

# A job of two processes, one on two nodes, an MPI job, and the helper's word on libpmix; $1: a directory of commands.
jobs() {
    "$1/prterun" --version
    "$1/prte_info" | grep PMIx: || fail "prte_info says nothing about PMIx"
    [ "$("$1/prterun" --allow-run-as-root -n 2 hostname | wc -l)" = 2 ] || fail "two processes did not say two lines"
    two=$("$1/prterun" --allow-run-as-root --prtemca plm local --host n0:1,n1:1 -n 2 --map-by node \
        sh -c 'echo $PMIX_RANK')
    [ "$(echo "$two" | sort | tr '\n' ' ')" = "0 1 " ] || fail "two nodes did not say 0 and 1, but: $two"
    hello=$("$1/prterun" --allow-run-as-root -n 2 /inputs/hello)
    echo "$hello"
    [ "$(echo "$hello" | grep -c ' of 2 ')" = 2 ] || fail "the MPI program found no other rank"
}

# The module in the shell whose functions come from the file $1. $2: the directory of the installation.
module_in() (
    set +eu
    . "$1" > /dev/null
    module use "$2/share/modulefiles" && module load ferrite || fail "the module cannot be loaded"
    [ "$(command -v prterun)" = "$2/bin/prterun" ] || fail "with the module, prterun is $(command -v prterun)"
    [ "$OMPI_PRTERUN" = "$2/bin/prterun" ] || fail "with the module, OMPI_PRTERUN is '$OMPI_PRTERUN'"
    [ "$(prterun --allow-run-as-root -n 1 echo ok)" = ok ] || fail "the prterun of the module does not run"
    man -w pdvm > /dev/null && man -w ls > /dev/null || fail "with the module, MANPATH is '$MANPATH'"
    module unload ferrite || fail "the module cannot be unloaded"
    [ "$(command -v prterun)" != "$2/bin/prterun" ] && [ -z "$OMPI_PRTERUN$MANPATH" ] ||
        fail "after the module, there are '$OMPI_PRTERUN', '$MANPATH' and $(command -v prterun)"
)

# What other programs read. $1: the directory of the installation, $2: the unit.
tools() {
    [ "$TOOLS" = yes ] || return 0
    module_in /usr/share/modules/init/sh "$1"
    module_in /usr/share/lmod/lmod/init/sh "$1"
    mkdir -p /run/user/0
    # Newer releases also say that no bus of the system is there.
    said=$(XDG_RUNTIME_DIR=/run/user/0 SYSTEMD_LOG_LEVEL=warning systemd-analyze --user verify --man=no "$2" 2>&1 |
        grep -v 'connect to system bus' || true)
    [ -z "$said" ] || fail "systemd-analyze says about $2: $said"
    grep -q "^ExecStart=$1/bin/prte " "$2" || fail "$2 starts another program than $1/bin/prte"
    say "Environment Modules, Lmod and systemd take what is in $1"
}

# Compares with the list of $1, which was made before.
nothing_left() {
    files > "$1.after"
    diff "$1" "$1.after" || fail "files were left or lost by the removal"
    ls -A /tmp /dev/shm | grep -i 'prte\|ferrite\|pmix' && fail "jobs have left files" || true
}

# An installation must not start services.
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d
say "Open MPI, libpmix and rpm, by apt-get"
{ apt-get update -q && apt-get install -y -q --no-install-recommends openmpi-bin openssh-client diffutils rpm; } \
    > /tmp/apt.log 2>&1 || { tail -n 20 /tmp/apt.log; fail "apt-get"; }
if [ "$TOOLS" = yes ]; then
    say "Environment Modules, Lmod and systemd, by apt-get"
    # The packages of the two exclude each other, though their files do not.
    { apt-get install -y -q --no-install-recommends lmod man-db systemd && (cd /tmp && apt-get download -q lmod) &&
        apt-get install -y -q --no-install-recommends environment-modules && dpkg-deb -x /tmp/lmod_*.deb /; } \
        > /tmp/apt.log 2>&1 || { tail -n 20 /tmp/apt.log; fail "apt-get"; }
    rm /tmp/lmod_*.deb
fi
command -v cargo rustc && fail "this root has Rust" || true

say "the archive: unpacked, installed below a prefix, called by links"
files > /root/before
mkdir /root/unpacked && tar -xzf /inputs/archive.tar.gz -C /root/unpacked
/root/unpacked/*/bin/prterun --allow-run-as-root -n 1 true || fail "it does not run where it was unpacked"
/root/unpacked/*/install.sh --prefix /opt/ferrite
/root/unpacked/*/install.sh --prefix /opt/ferrite # a second time: it replaces itself
rm -r /root/unpacked
jobs /opt/ferrite/bin
tools /opt/ferrite /opt/ferrite/share/ferrite/ferrite-dvm.service
mkdir /opt/view && ln -s /opt/ferrite/bin/prterun /opt/view/prterun
[ "$(/opt/view/prterun --allow-run-as-root -n 1 echo ok)" = ok ] || fail "it does not run through a link"
[ "$(cd / && PATH=/opt/view:$PATH prterun --allow-run-as-root -n 1 echo ok)" = ok ] || fail "nor by PATH"
rm -r /opt/view
/opt/ferrite/share/ferrite/install.sh --uninstall
nothing_left /root/before

# A package that is installed by the first and removed by the second of these commands.
package() {
    files > /root/before
    own=$(readlink -f /usr/bin/prterun || true)
    $1
    # Debian 13 has a prterun of its own, which stays.
    if grep -qx /usr/bin/prterun /root/before; then
        [ "$(readlink -f /usr/bin/prterun)" = "$own" ] || fail "the prterun of another package was replaced"
        jobs /usr/lib/ferrite-dvm/bin
    else
        [ "$(readlink -f /usr/bin/prterun)" = /usr/lib/ferrite-dvm/bin/ferrite ] || fail "prterun is not ours"
        jobs /usr/bin
    fi
    tools /usr/lib/ferrite-dvm /usr/lib/systemd/user/ferrite-dvm.service
    $2
    update-alternatives --query prterun > /dev/null 2>&1 && fail "an alternative is left" || true
    nothing_left /root/before
}

say "the .deb"
package "dpkg -i /inputs/package.deb" "dpkg -P ferrite-dvm"

say "the .rpm"
# Debian's rpm knows no package of this root, so nothing can fulfil what the .rpm requires. Debian 12's rpm wants to be
# told that this is meant; that of Debian 13 does not know the option.
rpm=rpm
rpm --force-debian --version > /dev/null 2>&1 && rpm="rpm --force-debian"
package "$rpm --nodeps -i /inputs/package.rpm" "$rpm -e ferrite-dvm"
say "installed, tried and removed"
