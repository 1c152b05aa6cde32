#!/usr/bin/env bash
# make deb and make wheel: which file is in which package, what they depend on, that nothing has debug symbols, that the command
# runs as python -m skiff, too; and that a wheel without its libraries says what to install.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
unset MAKEFLAGS MAKELEVEL
[ -d "$build/python/skiff" ] || { echo "skipped: built without Python"; exit 0; }
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool (apt-get install dpkg-dev)"; exit 0; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
version=$(sed -n 's/^#define SKIFF_VERSION_[MP][AI].* //p' include/skiff/version.h | paste -sd.)
fail() {
    echo "$*"
    exit 1
}
rm -rf "$build/dist"
make -s --no-print-directory BUILD="$build" deb wheel

arch=$(dpkg --print-architecture)
deb_of() { echo "$build/dist/$1_${version}_$arch.deb"; }
depends() { # PACKAGE WORD...: it depends on these
    local all word
    all=$(dpkg-deb -f "$(deb_of "$1")" Depends)
    for word in "${@:2}"; do grep -qF -- "$word" <<<"$all" || fail "$1: Depends has no $word: $all"; done
}
owns() { # PACKAGE PATH...: the path below /usr is in this package, and in no other
    local path name found
    for path in "${@:2}"; do
        found=
        for name in "${names[@]}"; do ls -d "$dir/$name"/usr/$path >/dev/null 2>&1 && found="$found $name"; done
        [ "$found" = " $1" ] || fail "$path is in:${found:- no package}; expected $1"
    done
}
names=(skiff libskiff0 libskiff-dev python3-skiff skiff-dbgsym)
[ "$(cd "$build/dist" && ls ./*.deb | wc -l)" -eq ${#names[@]} ] || fail "other packages than ${names[*]}: $(ls "$build/dist")"
for name in "${names[@]}"; do
    deb=$(deb_of "$name")
    [ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "$name has version $(dpkg-deb -f "$deb" Version)"
    dpkg-deb -x "$deb" "$dir/$name"
    (cd "$dir/$name" && dpkg-deb --ctrl-tarfile "$OLDPWD/$deb" | tar -xO ./md5sums | md5sum --quiet -c) || fail "$name: md5sums do not fit"
    [ -s "$dir/$name/usr/share/doc/$name/copyright" ] || fail "$name: no copyright"
done
owns skiff bin/skiff bin/fleetrun share/skiff/models/rank/dnn/config.yaml share/man/man1/skiff-train.1.gz share/bash-completion \
    share/zsh/vendor-completions share/doc/skiff/docs/guide/tutorial.md
owns libskiff0 'lib/*/libskiff.so.0' "lib/*/libskiff.so.$version"
owns libskiff-dev 'lib/*/libskiff.so' 'lib/*/libskiff.a' 'lib/*/pkgconfig/skiff.pc' include/skiff/skiff.h
owns python3-skiff lib/python3/dist-packages/paddle/fluid/__init__.py lib/skiff/python/skiff/_native.abi3.so
for name in skiff libskiff0 python3-skiff; do
    depends $name 'libc6 (>= ' libdnnl libssl3 libyaml-0-2 zlib1g
    dpkg-deb -f "$(deb_of $name)" Depends | tr , '\n' | sed 's/ *(.*//; s/ //g' | while read -r library; do
        case $library in skiff) continue ;; esac
        dpkg-query -W "$library" >/dev/null 2>&1 || fail "$name depends on $library, which is not installed here"
    done
done
depends libskiff-dev "libskiff0 (= $version)"
depends python3-skiff 'python3 (>= 3.9)' python3-numpy "skiff (= $version)"
# nothing but skiff-dbgsym has debug symbols; it has those of every program
programs=("$dir/skiff/usr/bin/skiff" "$dir"/libskiff0/usr/lib/*/libskiff.so."$version" "$dir/python3-skiff/usr/lib/skiff/python/skiff/_native.abi3.so")
stripped() { # FILE...
    local file
    for file in "$@"; do
        ! readelf -SW "$file" | grep -E ' \.(debug_info|symtab) ' >/dev/null || fail "$file is not stripped"
    done
}
stripped "${programs[@]}"
! readelf -SW "$dir"/libskiff-dev/usr/lib/*/libskiff.a | grep ' \.debug_info ' >/dev/null || fail "libskiff.a is not stripped"
for file in "${programs[@]}"; do
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    symbols=$dir/skiff-dbgsym/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
    readelf -SW "$symbols" | grep ' \.debug_info ' >/dev/null || fail "no debug symbols of $file"
done
installed=$(du -sm "$dir"/{skiff,libskiff0,libskiff-dev,python3-skiff} | awk '{n += $1} END {print n}')
[ "$installed" -le 30 ] || fail "the packages take $installed MB"
if command -v lintian >/dev/null; then # the address of who publishes them is not known here
    lintian --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog --allow-root \
        "$build"/dist/*.deb >"$dir/out" 2>&1 || { cat "$dir/out"; fail "lintian"; }
else
    echo "skipped: no lintian"
fi
# installed together
mkdir "$dir/deb"
for name in skiff libskiff0 libskiff-dev python3-skiff; do cp -a "$dir/$name/usr" "$dir/deb/"; done
"$dir/deb/usr/bin/skiff" python -c "import paddle.fluid, skiff; assert skiff.__version__ == '$version' and '$dir' in skiff.__file__"
. tests/train/own_reader.sh
own_reader "$dir/rec"
train_own() { # NAME COMMAND: a config whose reader needs the packages
    "$2" train -m "$dir/rec/models/rank/dnn/config.yaml" -o "runner.model_save_path=$dir/$1-model" >"$dir/out" 2>&1 ||
        { cat "$dir/out"; fail "$1: a reader of its own"; }
    own_reader_auc "$dir/out" || { cat "$dir/out"; fail "$1: a reader of its own does not learn"; }
}
train_own deb "$dir/deb/usr/bin/skiff"
as_module() { # NAME PYTHONPATH COMMAND [ENVIRONMENT...]: python -m skiff is this command
    [ "$(cd "$dir" && env -u SKIFF PATH=/usr/bin:/bin PYTHONPATH="$2" "${@:4}" "$python" -m skiff --version)" = "skiff $version" ] || fail "$1: python -m skiff --version"
    (cd "$dir" && env -u SKIFF PATH=/usr/bin:/bin PYTHONPATH="$2" "$python" -c 'import os; from skiff._command import skiff_command
print(os.path.realpath(skiff_command()))') >"$dir/out"
    [ "$(cat "$dir/out")" = "$(realpath "$3")" ] || fail "$1: python -m skiff is $(cat "$dir/out"), expected $3"
}
python=${PYTHON:-/usr/bin/python3}
as_module deb "$dir/deb/usr/lib/python3/dist-packages" "$dir/deb/usr/bin/skiff"
as_module "deb, where skiff python looks" "$dir/deb/usr/lib/skiff/python" "$dir/deb/usr/bin/skiff"

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
stripped "$dir/wheel/skiff/_native.abi3.so" "$dir"/wheel/skiff-*.data/scripts/skiff-program
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
site=$dir/venv/lib/python3/site-packages # as pip installs them
mkdir -p "$site"
cp -r "$dir/wheel/skiff" "$dir/wheel/paddle" "$site"
as_module wheel "$site" "$dir/venv/bin/skiff"
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
