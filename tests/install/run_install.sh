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

# stripped: no debug symbols, and nothing else than the exported names
for file in "$home/bin/skiff" "$home"/lib/libskiff.so.0.* "$home"/lib/skiff/python/skiff/_native.*.so; do
    [ -e "$file" ] || continue # built without Python
    ! readelf -SW "$file" | grep -E ' \.(debug_info|symtab) ' >/dev/null || fail "$file is not stripped"
done
! readelf -SW "$home/lib/libskiff.a" | grep ' \.debug_info ' >/dev/null || fail "libskiff.a is not stripped"
[ "$(du -sm "$home" | cut -f1)" -le 30 ] || fail "the installation takes $(du -sm "$home" | cut -f1) MB"
export PKG_CONFIG_LIBDIR=$home/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest
[ "$(pkg-config --modversion skiff)" = "$version" ] || fail "skiff.pc has version $(pkg-config --modversion skiff)"
read -ra cflags <<<"$(pkg-config --cflags skiff)"
read -ra shared <<<"$(pkg-config --libs skiff)"
read -ra static <<<"$(pkg-config --libs --static skiff | sed 's/-lskiff/-l:libskiff.a/')"
[ "${#shared[@]}" -eq 2 ] || fail "programs that use libskiff.so link more than it: ${shared[*]}"
mkdir "$dir/page" # the example of docs/reference/c-api.md
(cd "$dir/page" && python3 "$OLDPWD/tests/user/page.py" "$OLDPWD/docs/reference/c-api.md" --files)
for source in "$home"/share/doc/skiff/examples/*.c "$dir/page/fit.c"; do
    name=$(basename "$source" .c)
    gcc -O1 -Wall -Wextra -Werror "${cflags[@]}" "$source" -o "$dir/$name" "${shared[@]}" -lm
    gcc -O1 -Wall -Wextra -Werror "${cflags[@]}" "$source" -o "$dir/$name-static" "${static[@]}" -lm
    readelf -d "$dir/$name" | grep 'NEEDED.*\[libskiff\.so\.0\]' >/dev/null || fail "$name does not ask for libskiff.so.0"
    readelf -d "$dir/$name-static" | grep 'NEEDED.*libskiff' >/dev/null && fail "$name-static asks for libskiff.so"
done
example() { # NAME TEXT [ARGUMENT...]: runs it; its output has a line with the text
    local name=$1 text=$2
    shift 2
    (cd "$dir" && LD_LIBRARY_PATH=$home/lib TMPDIR=$dir "./$name" "$@") >"$dir/out" 2>&1 || { cat "$dir/out"; fail "$name failed"; }
    grep -q "$text" "$dir/out" || { cat "$dir/out"; fail "$name does not say \"$text\""; }
}
for kind in "" -static; do
    example "fleet$kind" '^last loss, mean of all workers: 0\.0000'
    example "fit$kind" '^loss 0\.0000$'
    example "ctr_dnn$kind" '^saved and loaded  *0\.[6-9]' 20000 500
done
[ "$(ls "$home"/share/doc/skiff/examples/*.c | wc -l)" -eq 4 ] || fail "an example that is not run here"
# models of one's own (docs/guide/networks.md): as the example says, linked with the library, and in C++
cp -r "$home/share/doc/skiff/examples/mymodel" "$dir/mymodel"
own() { # NAME: trains with that model
    (cd "$dir/mymodel" && LD_LIBRARY_PATH=$home/lib "$home/bin/skiff" train -m config.yaml -o "runner.model=./$1" "runner.model_save_path=out-$1") >"$dir/out" 2>&1 ||
        { cat "$dir/out"; fail "training with $1 failed"; }
}
gcc -Wall -Wextra -Werror -shared -fPIC "${cflags[@]}" -o "$dir/mymodel/mymodel.so" "$dir/mymodel/mymodel.c"
gcc -shared -fPIC "${cflags[@]}" -o "$dir/mymodel/linked.so" "$dir/mymodel/mymodel.c" "${shared[@]}"
readelf -d "$dir/mymodel/linked.so" | grep 'NEEDED.*\[libskiff\.so\.0\]' >/dev/null || fail "linked.so does not ask for libskiff.so.0"
for model in mymodel.so linked.so mymodel.yaml; do
    own $model
    cmp "$dir/mymodel/out-$model/4/rec_static.pdparams" "$dir/mymodel/out-mymodel.so/4/rec_static.pdparams" || fail "$model differs"
done
cat >"$dir/mymodel/three.cc" <<'END'
#include <skiff/model.h>
static void build(skiff_net *net, const skiff_model_config *config, skiff_model_net *out)
{
    struct skiff_dims one = SKIFF_CLEAR;
    one.n = 1, one.d[0] = 1;
    struct skiff_data_options ids = SKIFF_CLEAR;
    ids.dtype = "int64";
    const char *const names[] = {"click", "user", "item"};
    for (const char *name : names)
        skiff_model_input(out, skiff_layer_data(net, name, one, &ids));
    skiff_var *age = skiff_model_input(out, skiff_layer_data(net, "age", one, nullptr));
    out->loss = skiff_layer_mean(net, skiff_layer_fc(net, {1, &age}, skiff_model_integer(config, "width", 8), nullptr), nullptr);
}
SKIFF_MODEL("plus", "in C++", build)
END
if command -v g++ >/dev/null; then
    for header in "$home"/include/skiff/*.h; do
        case $header in *_list.h) continue ;; esac # rows of a table, which others include
        echo "#include <skiff/${header##*/}>" >"$dir/header.cc"
        g++ -std=c++11 -pedantic -fsyntax-only -Wall -Wextra -Werror "${cflags[@]}" "$dir/header.cc" || fail "${header##*/} is not for C++"
    done
    g++ -Wall -Wextra -Werror -shared -fPIC "${cflags[@]}" -o "$dir/mymodel/three.so" "$dir/mymodel/three.cc"
    cut -d, -f1-3,5 "$dir/mymodel/clicks.csv" >"$dir/mymodel/three.csv"
    sed -i 's/clicks.csv/three.csv/' "$dir/mymodel/config.yaml"
    own three.so
fi
# ready models from the installed folder, as networks in YAML
models=$home/share/skiff/models/rank/dnn
"$home/bin/skiff" train -m "$models/config.yaml" -o "runner.model=$home/share/doc/skiff/examples/networks/dnn.yaml" runner.epochs=1 \
    hyper_parameters.sparse_feature_number=2003 runner.input_hash_size=2003 "runner.model_save_path=$dir/dnn" >"$dir/out" 2>&1 ||
    { cat "$dir/out"; fail "dnn.yaml"; }
for kind in "" -static; do
    example "train$kind" '^1 epochs, [0-9]* samples, loss ' "$models/config.yaml" runner.epochs=1 \
        hyper_parameters.sparse_feature_number=2003 runner.input_hash_size=2003 "runner.model_save_path=$dir/trained$kind"
done
# a name that is hidden in libskiff.so is hidden in libskiff.a
echo 'int scope_create(void); int main(void) { return scope_create(); }' >"$dir/inner.c"
! gcc "$dir/inner.c" -o "$dir/inner" "${static[@]}" 2>/dev/null || fail "an inner name can be linked with"

if [ -d "$build/python/skiff" ]; then
    "$home/bin/skiff" python -c 'import paddle.fluid, skiff; print(skiff.__version__, skiff.__file__)' >"$dir/python.out"
    (cd "$dir" && env -u SKIFF PYTHONPATH="$home/lib/skiff/python" python3 -m skiff --version) >"$dir/out"
    [ "$(cat "$dir/out")" = "skiff $version" ] || fail "python3 -m skiff: $(cat "$dir/out")"
    [ "$(cat "$dir/python.out")" = "$version $home/lib/skiff/python/skiff/__init__.py" ] || fail "skiff python: $(cat "$dir/python.out")"
    . tests/train/own_reader.sh # a reader of one's own finds them, too
    own_reader "$dir/rec"
    "$home/bin/skiff" train -m "$dir/rec/models/rank/dnn/config.yaml" >"$dir/out" 2>&1 || { cat "$dir/out"; fail "a reader of its own"; }
    own_reader_auc "$dir/out" || { cat "$dir/out"; fail "a reader of its own does not learn"; }
fi

# a file of an older version goes when another is installed over it
touch "$home/lib/skiff/old"
echo /opt/skiff/lib/skiff/old >>"$home/lib/skiff/installed"
skiff_make install
[ ! -e "$home/lib/skiff/old" ] || fail "a file of an older version stays"

skiff_make uninstall
(cd "$dest" && find . | sort) | diff "$dir/before" - || fail "make uninstall does not leave what was there before make install"
skiff_make uninstall # nothing to do
skiff_make STRIP=no install
readelf -SW "$home/bin/skiff" | grep ' \.debug_info ' >/dev/null || fail "STRIP=no strips"
skiff_make uninstall
