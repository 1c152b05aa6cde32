#!/usr/bin/env bash
# make deb and make wheel: what is in them, what they depend on, and that a wheel without its libraries says what to install.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
unset MAKEFLAGS MAKELEVEL
[ -d "$build/python/skiff" ] || { echo "skipped: built without Python"; exit 0; }
command -v dpkg-deb >/dev/null || { echo "skipped: not a Debian system"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
version=$(sed -n 's/^#define SKIFF_VERSION_[MP][AI].* //p' include/skiff/version.h | paste -sd.)
fail() {
    echo "$*"
    exit 1
}
rm -rf "$build/dist"
make -s --no-print-directory BUILD="$build" deb wheel

deb=$build/dist/skiff_${version}_$(dpkg --print-architecture).deb
[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "the package has version $(dpkg-deb -f "$deb" Version)"
for word in libc6 libdnnl libssl3 libyaml-0-2 zlib1g python3-numpy; do
    dpkg-deb -f "$deb" Depends | grep "$word" >/dev/null || fail "Depends has no $word: $(dpkg-deb -f "$deb" Depends)"
done
dpkg-deb -x "$deb" "$dir/deb"
(cd "$dir/deb" && dpkg-deb --ctrl-tarfile "$OLDPWD/$deb" | tar -xO ./md5sums | md5sum --quiet -c) || fail "md5sums do not fit"
for file in bin/skiff bin/fleetrun lib/*/libskiff.so.0 lib/*/libskiff.a lib/*/pkgconfig/skiff.pc include/skiff/skiff.h \
    lib/python3/dist-packages/paddle/fluid/__init__.py share/doc/skiff/copyright; do
    [ -e "$dir"/deb/usr/$file ] || fail "$file is not in the package"
done
"$dir/deb/usr/bin/skiff" python -c "import paddle.fluid, skiff; assert skiff.__version__ == '$version' and '$dir' in skiff.__file__"
. tests/train/own_reader.sh
own_reader "$dir/rec"
train_own() { # NAME COMMAND: a config whose reader needs the packages
    "$2" train -m "$dir/rec/models/rank/dnn/config.yaml" -o "runner.model_save_path=$dir/$1-model" >"$dir/out" 2>&1 ||
        { cat "$dir/out"; fail "$1: a reader of its own"; }
    own_reader_auc "$dir/out" || { cat "$dir/out"; fail "$1: a reader of its own does not learn"; }
}
train_own deb "$dir/deb/usr/bin/skiff"

python=${PYTHON:-/usr/bin/python3}
"$python" - "$build"/dist/skiff-"$version"-cp39-abi3-*.whl "$dir/wheel" <<'END' # every file is as RECORD says
import base64, csv, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(n for n in wheel.namelist() if n.endswith("/RECORD"))
rows = {name: digest for name, digest, size in csv.reader(wheel.read(record).decode().splitlines())}
assert set(rows) == set(wheel.namelist()), set(rows) ^ set(wheel.namelist())
for name, digest in rows.items():
    if name != record:
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode(), name
wheel.extractall(sys.argv[2])
END
export PYTHONPATH=$dir/wheel PYTHONDONTWRITEBYTECODE=1
"$python" -c "import paddle.fluid, skiff; assert skiff.__version__ == '$version' and '$dir' in skiff.__file__"
grep -q "'libdnnl.so[.0-9]*': 'libdnnl" "$dir/wheel/skiff/_needs.py" || fail "_needs.py: $(cat "$dir/wheel/skiff/_needs.py")"
# the command: runs, and says what to install when a library is gone
scripts=$(echo "$dir"/wheel/skiff-*.data/scripts)
chmod +x "$scripts"/*
[ "$("$scripts/skiff" --version)" = "skiff $version" ] || fail "the wheel's command says $("$scripts/skiff" --version)"
"$scripts/fleetrun" --help | grep 'usage: skiff launch' >/dev/null || fail "the wheel's fleetrun is not the launcher"
# as pip installs it: the command in the folder of a Python that has the packages; nothing else says where they are
mkdir -p "$dir/venv/bin"
cp "$scripts"/* "$dir/venv/bin"
printf '#!/bin/sh\nPYTHONPATH=%s exec %s "$@"\n' "$dir/wheel" "$python" >"$dir/venv/bin/python3"
chmod +x "$dir/venv/bin/python3"
(unset PYTHONPATH && train_own wheel "$dir/venv/bin/skiff")
grep -q '^        libdnnl.so[.0-9]*) package=libdnnl[0-9.]* ;;$' "$scripts/skiff" || fail "the command does not know libdnnl's package"
echo 'int gone(void); int gone(void) { return 1; }' | gcc -shared -x c - -o "$dir/libgone.so.1" -Wl,-soname,libgone.so.1
echo 'int gone(void); int main(void) { return gone(); }' | gcc -x c - -x none -o "$scripts/skiff-program" "$dir/libgone.so.1"
rm "$dir/libgone.so.1"
sed -i 's/^        libdnnl\.so[.0-9]*)/        libgone.so.1)/; s/package=libdnnl[0-9.]*/package=libgone1/' "$scripts/skiff"
status=0
"$scripts/skiff" train >"$dir/out" 2>&1 || status=$?
[ "$status" -eq 127 ] || fail "a command without its library ends with $status"
diff "$dir/out" - <<'END' || fail "a command without its library says something else"
skiff: these libraries are missing: libgone.so.1
skiff: it needs these Debian packages: apt-get install libgone1
END
# a module whose library is gone
echo 'int gone(void); int gone(void) { return 1; }' | gcc -shared -x c - -o "$dir/libgone.so.1" -Wl,-soname,libgone.so.1
echo 'int gone(void); int native(void); int native(void) { return gone(); }' >"$dir/native.c"
gcc -shared -fPIC "$dir/native.c" -o "$dir/wheel/skiff/_native.abi3.so" "$dir/libgone.so.1"
echo "PACKAGES = {'libgone.so.1': 'libgone1', 'libc.so.6': 'libc6'}" >"$dir/wheel/skiff/_needs.py"
rm "$dir/libgone.so.1"
"$python" -c "import skiff" 2>"$dir/err" && fail "a module without its library is imported"
tail -n 1 "$dir/err" | grep '^ImportError: libgone.so.1: .* Skiff needs these Debian packages: apt-get install libgone1$' >/dev/null ||
    fail "says: $(tail -n 1 "$dir/err")"
