#!/bin/sh
# Installs Ferrite from this unpacked archive, or removes what it has installed:
#   ./install.sh --prefix DIR
#   DIR/share/ferrite/install.sh --uninstall
set -eu

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage='usage: install.sh --prefix DIR, or install.sh --uninstall [--prefix DIR]'
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
prefix=
remove=no
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) [ $# -gt 1 ] || fail "--prefix needs a directory"; prefix=$2; shift 2 ;;
    --prefix=*) prefix=${1#--prefix=}; shift ;;
    --uninstall) remove=yes; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) fail "unknown word '$1'; $usage" ;;
    esac
done

# An installed copy of this script is in DIR/share/ferrite.
if [ -z "$prefix" ] && [ -f "$here/manifest" ]; then
    prefix=$(CDPATH='' cd -- "$here/../.." && pwd -P)
fi
[ -n "$prefix" ] || fail "no directory is named; $usage"
manifest=$prefix/share/ferrite/manifest

# The directories of the files in the list, each after those below it.
directories() {
    echo "$1" | sed -n 's,/[^/]*$,,p' | while IFS= read -r dir; do
        while :; do
            echo "$dir"
            case $dir in */*) dir=${dir%/*} ;; *) break ;; esac
        done
    done | LC_ALL=C sort -ru
}

# Removes the files of the manifest, which names itself too, and the directories that are empty then.
uninstall() {
    list=$(cat "$manifest")
    echo "$list" | while IFS= read -r path; do
        rm -f -- "$prefix/$path"
    done
    directories "$list" | while IFS= read -r dir; do
        rmdir -- "$prefix/$dir" 2> /dev/null || true
    done
    rmdir -- "$prefix" 2> /dev/null || true
}

if [ $remove = yes ]; then
    [ -f "$manifest" ] || fail "nothing is installed in $prefix: $manifest is not there"
    uninstall
    echo "Ferrite is removed from $prefix."
    exit 0
fi

[ -x "$here/bin/ferrite" ] || fail "this is not an unpacked archive: $here/bin/ferrite is not there"
files=$(cd "$here" && find bin share \( -type f -o -type l \) | LC_ALL=C sort)
if [ ! -f "$manifest" ]; then
    # What another package has installed is not overwritten.
    for path in $files; do
        if [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ]; then
            fail "$prefix/$path is there already, and not from this script; name another directory"
        fi
    done
fi
mkdir -p -- "$prefix" || fail "cannot make $prefix"
prefix=$(CDPATH='' cd -- "$prefix" && pwd -P)
manifest=$prefix/share/ferrite/manifest
[ "$prefix" != "$here" ] || fail "the archive is unpacked there already, and works as it is"
if [ -f "$manifest" ]; then
    uninstall
fi
mkdir -p -- "$prefix/share/ferrite"
{
    echo "$files"
    echo share/ferrite/install.sh
    echo share/ferrite/manifest
} > "$manifest"
for path in $files; do
    mkdir -p -- "$prefix/$(dirname -- "$path")"
    cp -pP -- "$here/$path" "$prefix/$path"
done
# The unit names its programs by their whole paths.
escaped=$(printf '%s' "$prefix" | sed 's/[\\&,]/\\&/g')
sed "s,=/usr/lib/ferrite-dvm/bin/,=$escaped/bin/," "$here/share/ferrite/ferrite-dvm.service" \
    > "$prefix/share/ferrite/ferrite-dvm.service"
cp -p -- "$here/install.sh" "$prefix/share/ferrite/install.sh"
echo "Ferrite is installed in $prefix. Put $prefix/bin in front of PATH, or use the module in"
echo "$prefix/share/modulefiles. To remove it: $prefix/share/ferrite/install.sh --uninstall"
