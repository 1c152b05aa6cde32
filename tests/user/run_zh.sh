#!/usr/bin/env bash
# The Chinese pages do not go stale: README.zh-CN.md and every page of docs/zh have the commands of their English pages,
# README.zh-CN.md has the speeds of README.md, and the commands of README.zh-CN.md and docs/zh/distributed.md print what is shown.
# run_tutorial and run_migrate run the other two pages.
set -euo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH PYTHONDONTWRITEBYTECODE=1
. tests/user/page.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compare() { python3 "$root/tests/user/zh_page.py" "$@"; }

compare README.zh-CN.md README.md
for page in docs/zh/*.md; do
    name=${page##*/}
    english=("docs/guide/$name")
    [ "$name" = distributed.md ] && english+=(docs/guide/collective.md)
    compare "$page" "${english[@]}"
done
# README.zh-CN.md has the measured numbers of README.md, row by row
speeds() { # FILE HEADING: the numbers of each row of the table below the heading, sorted
    awk -v heading="## $2" '/^## / { inside = $0 == heading } inside && /^\|/' "$1" | while read -r row; do
        echo "row: $({ grep -oE '[0-9]+(\.[0-9]+)?' || true; } <<<"$row" | sort -n | tr '\n' ' ')"
    done
}
[ "$(speeds README.zh-CN.md 性能 | wc -l)" -gt 2 ] || { echo "README.zh-CN.md: where are the speeds?"; exit 1; }
diff <(speeds README.md Speed) <(speeds README.zh-CN.md 性能) || { echo "README.zh-CN.md has other speeds (>) than README.md (<)"; exit 1; }
lines=$(wc -l <README.zh-CN.md)
[ "$lines" -le 130 ] || { echo "README.zh-CN.md has $lines lines; at most 130"; exit 1; }

pages=(README.zh-CN.md)
if [ -d "$root/${BUILD:-build}/python" ]; then
    pages+=(docs/zh/distributed.md)
else
    echo "docs/zh/distributed.md is not run: Python was not built"
fi
for page in "${pages[@]}"; do
    folder=$work/${page//\//-}
    page_folder "$page" "$folder"
    cd "$folder"
    python3 "$root/tests/user/page.py" "$root/$page" | tee "$work/seen"
    ! grep -q ': 0 commands$' "$work/seen" || { echo "$page: where are the commands?"; exit 1; }
done

# a difference is noticed
cd "$work"
english() { printf '%s\n' '# Page' '' '    skiff train -m config.yaml     # alone' '' '```console' '$ ls' '$ skiff \' '    report x' 'x: 1 runs' '```' \
    '```python a.py' 'import paddle    # all of it' '```' "$@"; }
english >en.md
english '说明' '' '    skiff train -m config.yaml   # 单机' >zh.md
compare zh.md en.md
expect_fault() { # TEXT
    if compare zh.md en.md >log; then echo "not noticed: $1"; exit 1; fi
    grep -qF -- "$1" log || { echo "expected '$1', got:"; cat log; exit 1; }
    [ "$(wc -l <log)" -eq 1 ] || { echo "expected one fault, got:"; cat log; exit 1; }
}
english '' '    skiff doctor' >zh.md
expect_fault 'zh.md: not in en.md: skiff doctor'
english '' '    SKIFF_JOB=a skiff train' >zh.md
expect_fault 'zh.md: not in en.md: SKIFF_JOB=a skiff train'
english '' '```sh' 'make run' '```' >zh.md
expect_fault 'zh.md: not in en.md: make run'
english | sed 's/report x/report y/' >zh.md
english '```console' '$ skiff report y' '```' >en.md
expect_fault 'en.md: not in zh.md: skiff report x'
english >en.md
english '```python b.py' 'import paddle' '```' >zh.md
expect_fault 'zh.md: not in en.md: file b.py'
english '' '中文,标点' >zh.md
expect_fault 'zh.md: line 15: Western punctuation next to a Chinese character: 文,'
echo "differences are noticed"
