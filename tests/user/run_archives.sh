#!/usr/bin/env bash
# skiff replay on archives: recorded cases without unpacking them oneself; what is in an archive stays in a private folder,
# which is gone afterwards, also after Ctrl-C.
set -euo pipefail
skiff=$PWD/${BUILD:-build}/skiff
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir/temp
mkdir "$TMPDIR" "$dir/cases"
fail() {
    echo "$*"
    exit 1
}
nothing_left() {
    [ -z "$(ls -A "$TMPDIR")" ] || fail "left in the temporary folder: $(ls -A "$TMPDIR")"
}
says() { # TEXT ARGUMENT...: replay fails with status 1, and its last line has the text
    local text=$1 status=0
    shift
    "$skiff" replay "$@" >"$dir/out" 2>&1 || status=$?
    [ "$status" -eq 1 ] || { cat "$dir/out"; fail "status $status: replay $*"; }
    tail -n 1 "$dir/out" | grep -F -- "$text" >/dev/null || { cat "$dir/out"; fail "does not say \"$text\": replay $*"; }
    nothing_left
}

# an archive, and a folder with archives beside others
[ "$("$skiff" replay tests/golden/optimizers.tar.xz | tail -n 1)" = "19 passed, 0 failed" ] || fail "optimizers.tar.xz"
nothing_left
cp tests/golden/optimizers.tar.xz tests/golden/dist.tar.xz "$dir/cases" # dist: jobs, no cases
tar -C "$dir/cases" -xf tests/golden/saved.tar.xz
xz -dc tests/golden/rng.tar.xz | gzip >"$dir/cases/rng.tar.gz"
"$skiff" replay -v "$dir/cases" >"$dir/out"
[ "$(tail -n 1 "$dir/out")" = "66 passed, 0 failed" ] || { tail -n 3 "$dir/out"; fail "a folder with archives"; }
grep -F "ok   $dir/cases/rng.tar.gz/rng/" "$dir/out" >/dev/null || fail "cases are not called by their archive"
nothing_left

# a case that fails is told by its place in the archive
mkdir "$dir/bad"
tar -C "$dir/bad" -xf tests/golden/optimizers.tar.xz
case=$(cd "$dir/bad" && find . -name case.txt | sort | sed -n 1p)
echo 'kind: nonsense' >"$dir/bad/$case"
tar -C "$dir/bad" -cf "$dir/bad.tar" optimizers
"$skiff" replay "$dir/bad.tar" >"$dir/out" 2>/dev/null && fail "a broken case passes"
grep "^FAIL $dir/bad.tar/optimizers/" "$dir/out" >/dev/null || { cat "$dir/out"; fail "a broken case is not told"; }
[ "$(tail -n 1 "$dir/out")" = "18 passed, 1 failed" ] || fail "$(tail -n 1 "$dir/out")"
nothing_left

# archives that are none, or want to get out
says 'no case.txt in this archive' tests/golden/dist.tar.xz
says 'is not a folder: give a folder with a case.txt in it or below it, or an archive of one (x.tar.xz)' "$dir/gone.tar.xz"
says 'is not a folder' README.md
mkdir "$dir/empty"
says 'no case.txt in this folder or below it, nor in an archive there' "$dir/empty"
head -c 20000 tests/golden/optimizers.tar.xz >"$dir/cut.tar.xz"
says 'cut.tar.xz: the xz data ends too early' "$dir/cut.tar.xz"
head -c 5000 README.md >"$dir/text.tar"
says 'text.tar: not a tar archive, or damaged' "$dir/text.tar"
: >"$dir/nothing.tar"
says 'nothing.tar: the archive ends too early' "$dir/nothing.tar"
echo text >"$dir/file"
tar -C "$dir" -cf "$dir/out.tar" -P --transform 's,^,../escaped-,' file
says 'the name "../escaped-file" leads out of the archive; it is not unpacked' "$dir/out.tar"
[ ! -e "$dir/escaped-file" ] || fail "an archive has written outside"
ln -s /etc/passwd "$dir/link"
tar -C "$dir" -cf "$dir/link.tar" link
says 'link is a link or a device; only files and folders are unpacked' "$dir/link.tar"
TMPDIR=$dir/nowhere "$skiff" replay "$dir/link.tar" >"$dir/out" 2>&1 && fail "unpacked into a folder that is not there"
grep 'link.tar: cannot create a temporary folder to unpack it into' "$dir/out" >/dev/null || { cat "$dir/out"; fail "cannot create a temporary folder"; }

# Ctrl-C: ends, and removes what it has unpacked
mkfifo "$dir/lines"
"$skiff" replay -v tests/golden/ops.tar.xz >"$dir/lines" 2>"$dir/err" &
pid=$!
exec 3<"$dir/lines"
read -r _ <&3 # a case is done, more are to come
kill -INT $pid
cat <&3 >/dev/null
status=0
wait $pid || status=$?
[ "$status" -eq 1 ] || fail "status $status after Ctrl-C"
grep '^skiff replay: stopped; [0-9]* passed, 0 failed so far$' "$dir/err" >/dev/null || fail "says: $(cat "$dir/err")"
nothing_left
