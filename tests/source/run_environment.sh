#!/usr/bin/env bash
# docs/reference/environment.md names every variable that src/ and python/ read, and no other; the comparison notices both.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/compare.py" <<'END'
import os, re, sys

root = sys.argv[1]
PREFIX = "SKIFF|PADDLE|FLAGS|AWS|HADOOP|SLURM|OMPI|PMI|PMIX|POD|TRAINING"
NAME = re.compile(r'"((?:%s)_\w*[A-Za-z0-9]|(?:https?|all)_proxy|(?:HTTPS?|ALL)_PROXY)"' % PREFIX)
CALL = re.compile(r'(?:getenv|setenv|put_in_front|environ\.(?:get|setdefault|pop)|number_of|env_of|launch_env_[gs]et)\((?:e, |\s*)"(\w*[A-Za-z0-9])"')
ITEM = re.compile(r'environ\["(\w+)"\]|"(\w+)" (?:not )?in os\.environ')
SPLIT = re.compile(r'"((?:%s)_\w*)" \+' % PREFIX)  # Python: a name that is put together

code, parts = {}, set()
for top in "src", "python", "models":
    for folder, _, files in os.walk(os.path.join(root, top)):
        for file in files:
            if not file.endswith((".c", ".h", ".py")) or file.endswith(("_test.c", "_test.h", "test_help.h")):
                continue
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as source:
                text = source.read()
            for macro, value in re.findall(r'#define (\w+) "(\w+_)"', text):  # MACRO "rest" is one text
                text = re.sub(r'\b%s "' % macro, '"' + value, text)
            names = NAME.findall(text) + CALL.findall(text) + [a or b for a, b in ITEM.findall(text)]
            for name in names:
                code.setdefault(name, os.path.relpath(path, root))
            if '"USER"' in text and "getenv" in text:
                code.setdefault("USER", path)
            for prefix in SPLIT.findall(text):
                parts.update(prefix + rest for rest in re.findall(r'"(\w+)"', text))

with open(os.path.join(root, "docs/reference/environment.md"), encoding="utf-8") as page:
    rows = [line.split("|")[1] for line in page if line.startswith("| `")]
named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
for name in sorted(set(code) - named):
    print("%s: reads %s, which docs/reference/environment.md does not name" % (code[name], name))
for name in sorted(named - set(code) - parts):
    print("docs/reference/environment.md: %s stands in no code" % name)
if set(code) - named or named - set(code) - parts:
    sys.exit(1)
if len(code) < 100 and root == ".":
    sys.exit("only %d names were found in the code" % len(code))
print("environment: %d variables, all on the page" % len(named))
END
python3 "$dir/compare.py" .

expect_fault() { # TEXT
    if python3 "$dir/compare.py" "$dir/tree" >"$dir/out"; then
        echo "not noticed: $1"
        exit 1
    fi
    grep -qF -- "$1" "$dir/out" || { echo "expected '$1', got:"; cat "$dir/out"; exit 1; }
    [ "$(wc -l <"$dir/out")" -eq 1 ] || { echo "expected one fault, got:"; cat "$dir/out"; exit 1; }
}
project() { # a small project whose page is complete
    rm -rf "$dir/tree"
    mkdir -p "$dir/tree/src" "$dir/tree/python" "$dir/tree/docs/reference"
    echo 'static const char *home(void) { return getenv("HOME"); }' >"$dir/tree/src/a.c"
    printf '#define PRE "FLAGS_pre_"\nstruct row rows[] = {{"SKIFF_A"}, {PRE "b"}};\n' >"$dir/tree/src/b.c"
    printf 'a = os.environ["JOB"]\nb = [os.getenv("FLAGS_" + key) for key in ("c", "d")]\n' >"$dir/tree/python/a.py"
    echo 'void test(void) { setenv("SKIFF_OF_A_TEST", "1", 1); }' >"$dir/tree/src/a_test.c"
    printf '| `%s` |\n' HOME SKIFF_A FLAGS_pre_b JOB FLAGS_c FLAGS_d >"$dir/tree/docs/reference/environment.md"
}
project
python3 "$dir/compare.py" "$dir/tree" >"$dir/out" || { echo "a complete page is refused:"; cat "$dir/out"; exit 1; }
echo 'const char *t(void) { return getenv("TERM"); }' >>"$dir/tree/src/a.c"
expect_fault "src/a.c: reads TERM, which docs/reference/environment.md does not name"
project
echo 'struct row more = {PRE "e"};' >>"$dir/tree/src/b.c"
expect_fault "src/b.c: reads FLAGS_pre_e"
project
echo 'if "PADDLE_X" in os.environ: pass' >>"$dir/tree/python/a.py"
expect_fault "python/a.py: reads PADDLE_X"
project
echo '| `SKIFF_GONE` |' >>"$dir/tree/docs/reference/environment.md"
expect_fault "docs/reference/environment.md: SKIFF_GONE stands in no code"
echo "faults are noticed"
