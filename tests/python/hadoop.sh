#!/bin/bash
# `hadoop fs` over a folder of this machine, SKIFF_TEST_HADOOP: it does and says what FsShell of Hadoop 3.3.6 did over a
# MiniDFSCluster. Calls are added to SKIFF_TEST_HADOOP.calls. SKIFF_TEST_UGI: how all calls must begin.
# SKIFF_TEST_DENIED: "rm /path": what may not be done.
root=$SKIFF_TEST_HADOOP
echo "$@" >>"$root.calls"
[ -z "$SKIFF_TEST_UGI" ] || [[ "$*" == "$SKIFF_TEST_UGI "* ]] || exit 9
echo "2026-01-31 10:00:00,000 WARN util.NativeCodeLoader: Unable to load native-hadoop library for your platform" >&2
[ "$1" = fs ] || exit 255
shift
while [[ $1 == -D* ]]; do shift; done
verb=${1#-}
shift
status=0
say() { # PATH WHAT
    echo "$verb: \`$1': $2" >&2
    status=1
}
denied() { # PATH
    [ "$SKIFF_TEST_DENIED" = "$verb ${at#"$root"}" ] || return 1
    echo "$verb: Permission denied: user=me, access=WRITE, inode=\"$(dirname "$1")\":you:us:drwxr-xr-x" >&2
    status=1
}
missing() { say "$1" "No such file or directory${2:+: $2}"; }
place() { # PATH: where it lies here, into $at
    at=${1#*:}
    case $at in //*) at=/${at#//*/} ;; esac
    at=$root$at
}
line() { # PLACE PATH
    local kind=-rw-r--r-- size
    size=$(stat -c %s "$1")
    [ ! -d "$1" ] || { kind=drwxr-xr-x; size=0; }
    printf '%s   %s me us %10d 2026-01-31 10:00 %s\n' $kind "$([ -d "$1" ] && echo - || echo 3)" "$size" "$2"
}
list() {
    place "$1"
    if [ -f "$at" ]; then
        line "$at" "$1"
    elif [ -d "$at" ]; then
        shopt -s dotglob nullglob
        local all=("$at"/*)
        [ ${#all[@]} = 0 ] || echo "Found ${#all[@]} items"
        for one in "${all[@]}"; do line "$one" "${1%/}/${one##*/}"; done
    else
        missing "$1"
    fi
}
into() { # SOURCE TARGET MANY: the target's path, in a folder if it is one, into $to and $at; fails with a message
    to=$2
    place "$to"
    if [ -d "$at" ]; then
        to=${2%/}/$(basename "$1")
    elif [ "$3" = 1 ]; then
        missing "$to"
        return 1
    fi
    place "$to"
    [ ! -e "$at" ] || { say "$to" "File exists"; return 1; }
    [ -d "$(dirname "$at")" ] || { missing "$to" "\`hdfs://h:1${at#"$root"}'"; return 1; }
}
case $verb in
ls) for p; do list "$p"; done ;;
cat) for p; do place "$p"; if [ -f "$at" ]; then cat "$at"; else missing "$p"; fi; done ;;
mkdir)
    [ "$1" != -p ] || shift
    for p; do place "$p"; mkdir -p "$at" 2>/dev/null || say "$p" "File exists"; done ;;
rm)
    folders=0
    [ "$1" != -r ] || { folders=1; shift; }
    for p; do
        place "$p"
        if [ ! -e "$at" ]; then missing "$p"; elif [ -d "$at" ] && [ $folders = 0 ]; then say "$p" "Is a directory"; elif ! denied "$p"; then rm -r "$at"; fi
    done ;;
mv | put)
    target=${*: -1}
    many=$(($# > 2))
    while [ $# -gt 1 ]; do
        from=$1
        if [ "$verb" = mv ]; then place "$1"; from=$at; fi
        if [ ! -e "$from" ]; then
            missing "$1"
        elif into "$1" "$target" $many; then
            if denied "$1"; then :; elif [ "$verb" = mv ]; then mv "$from" "$at"; else cp -r "$from" "$at"; fi
        fi
        shift
    done ;;
*) echo "$verb: Unknown command" >&2; status=255 ;;
esac
exit $status
