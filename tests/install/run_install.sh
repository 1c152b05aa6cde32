#!/usr/bin/env bash
# make install and make uninstall: what is installed can be used by programs, shared and static, by the command and by Python;
# afterwards everything is as before.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
unset MAKEFLAGS MAKELEVEL
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
dest=$dir/root home=$dir/root/opt/skiff
version=$(sed -n 's/^#define SKIFF_VERSION_[MP][AI].* //p' include/skiff/version.h | paste -sd.)
fail() {
    echo "$*"
    exit 1
}
skiff_make() { make -s --no-print-directory BUILD="$build" DESTDIR="$dest" PREFIX=/opt/skiff "$@"; }

# somebody else's files stay
mkdir -p "$home/bin" "$home/share/doc"
touch "$home/bin/other"
(cd "$dest" && find . | sort) >"$dir/before"
skiff_make install
[ "$("$home/bin/skiff" --version)" = "skiff $version" ] || fail "version: $("$home/bin/skiff" --version), expected $version"
"$home/bin/fleetrun" --help | grep 'usage: skiff launch' >/dev/null || fail "fleetrun is not the launcher"

export PKG_CONFIG_LIBDIR=$home/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest
[ "$(pkg-config --modversion skiff)" = "$version" ] || fail "skiff.pc has version $(pkg-config --modversion skiff)"
read -ra cflags <<<"$(pkg-config --cflags skiff)"
read -ra shared <<<"$(pkg-config --libs skiff)"
read -ra static <<<"$(pkg-config --libs --static skiff | sed 's/-lskiff/-l:libskiff.a/')"
[ "${#shared[@]}" -eq 2 ] || fail "programs that use libskiff.so link more than it: ${shared[*]}"
for source in "$home"/share/doc/skiff/examples/*.c; do
    name=$(basename "$source" .c)
    gcc -O1 -Wall -Wextra -Werror "${cflags[@]}" "$source" -o "$dir/$name" "${shared[@]}" -lm
    gcc -O1 -Wall -Wextra -Werror "${cflags[@]}" "$source" -o "$dir/$name-static" "${static[@]}" -lm
    readelf -d "$dir/$name" | grep 'NEEDED.*\[libskiff\.so\.0\]' >/dev/null || fail "$name does not ask for libskiff.so.0"
    readelf -d "$dir/$name-static" | grep 'NEEDED.*libskiff' >/dev/null && fail "$name-static asks for libskiff.so"
done
for name in fleet fleet-static; do
    LD_LIBRARY_PATH=$home/lib "$dir/$name" >"$dir/out" 2>&1 || { cat "$dir/out"; fail "$name failed"; }
    grep -q '^last loss, mean of all workers: 0\.0000' "$dir/out" || { cat "$dir/out"; fail "$name has not learned"; }
done
# a name that is hidden in libskiff.so is hidden in libskiff.a
echo 'int scope_create(void); int main(void) { return scope_create(); }' >"$dir/inner.c"
! gcc "$dir/inner.c" -o "$dir/inner" "${static[@]}" 2>/dev/null || fail "an inner name can be linked with"

if [ -d "$build/python/skiff" ]; then
    "$home/bin/skiff" python -c 'import paddle.fluid, skiff; print(skiff.__version__, skiff.__file__)' >"$dir/python.out"
    [ "$(cat "$dir/python.out")" = "$version $home/lib/skiff/python/skiff/__init__.py" ] || fail "skiff python: $(cat "$dir/python.out")"
fi

# a file of an older version goes when another is installed over it
touch "$home/lib/skiff/old"
echo /opt/skiff/lib/skiff/old >>"$home/lib/skiff/installed"
skiff_make install
[ ! -e "$home/lib/skiff/old" ] || fail "a file of an older version stays"

skiff_make uninstall
(cd "$dest" && find . | sort) | diff "$dir/before" - || fail "make uninstall does not leave what was there before make install"
skiff_make uninstall # nothing to do
