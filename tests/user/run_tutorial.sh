#!/usr/bin/env bash
# docs/guide/tutorial.md and docs/zh/tutorial.md: every command in them runs and prints literally what the page shows; the helper
# that says so (page.py) can fail, and writes what is printed now into a page.
set -euo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH PYTHONDONTWRITEBYTECODE=1
. tests/user/page.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for page in docs/guide/tutorial.md docs/zh/tutorial.md; do
    folder=$work/${page//\//-}
    page_folder "$page" "$folder"
    cd "$folder"
    python3 "$root/tests/user/page.py" "$root/$page" | tee log
    [ "$(sed -n 's/^tutorial.md: \([0-9]*\) commands$/\1/p' log)" -ge 10 ] || { echo "$page: where are the commands?"; exit 1; }
    [ -s run/model/report.html ] && [ -s runs.html ] || { echo "$page: no reports"; exit 1; }
    [ "$(wc -l <p.txt)" -eq 5 ] || { echo "$page: not a prediction for each row"; exit 1; }
done

# what is not as shown is told
expect_fault() { # SHOWN... : below a command that prints "auc 0.8123 of 7 rows" and "end"
    printf '%s\n' '```console' '$ printf "auc 0.8123 of 7 rows\nend\n"' "${@:2}" '```' >page.md
    if python3 "$root/tests/user/page.py" page.md >log; then
        echo "not noticed: ${*:2}"
        exit 1
    fi
    grep -qF -- "$1" log || { echo "expected '$1', got:"; cat log; exit 1; }
}
expect_fault 'it does not print: auc 0.7123 of 7 rows' 'auc 0.7123 of 7 rows' end
expect_fault 'it does not print: auc 0.8123 of 8 rows' 'auc 0.8123 of 8 rows' end
expect_fault 'it does not print: auc 0.8124 of 7 rows' 'auc 0.8124 of 7 rows' end
expect_fault 'it does not print: auc  0.8123 of 7 rows' 'auc  0.8123 of 7 rows' end
expect_fault 'it does not print: more' 'auc 0.8123 of 7 rows' ... more
expect_fault 'it does not print: (nothing more)' 'auc 0.8123 of 7 rows'
expect_fault 'status 3' ... end '$ exit 3'

# times, speeds, their columns in tables and the folder are masked, on both sides; nothing else is
block() { printf '%s\n' '```console' "$@" '```'; }
table() { # SPEED READ AUC...: a table as skiff train prints it, in front of a line of text
    printf 'epoch   samples/s      auc    read\n'
    printf '%5d%12s%9s%6s %%\n' 0 "$1" "$3" "$2"
    printf 'best epoch: 0 after %s, %s samples/s: %s\n' "$4" "$5" "$6"
}
cat >prints.sh <<END
#!/bin/bash
$(declare -f table)
table "\$@"
END
line="\$ bash prints.sh 70123 5 0.8123 '0.7 s' 91 \"\$PWD/run\""
{ block "$line" "$(table 9 99 0.8123 '12.25 s' 1234567 /home/you/run)"; } >page.md
python3 "$root/tests/user/page.py" page.md || { echo "a masked value is compared"; exit 1; }
{ block "$line" "$(table 9 99 0.8124 '12.25 s' 1234567 /home/you/run)"; } >page.md
! python3 "$root/tests/user/page.py" page.md >log || { echo "another value is not compared"; exit 1; }

# --write: other lines than now are replaced, those that differ in masked values stay, "..." stays where it is
{
    echo 'Text.'
    block "$line" 'epoch   samples/s      auc    read' '    0         99   0.7000     1 %' ... '$ seq 12' 1 ... 12
    echo 'More text.'
    block '$ printf "a 1.5\nb 2.5\nc 3.5\nd 4\n"' ... 'b 2' ... '$ true'
} >page.md
{
    echo 'Text.'
    block "$line" 'epoch   samples/s      auc    read' '    0       70123   0.8123     5 %' ... '$ seq 12' 1 ... 12
    echo 'More text.'
    block '$ printf "a 1.5\nb 2.5\nc 3.5\nd 4\n"' ... 'b 2.5' ... '$ true'
} >expected.md
python3 "$root/tests/user/page.py" page.md --write >log
diff expected.md page.md || { echo "--write: another page than expected"; exit 1; }
python3 "$root/tests/user/page.py" page.md >log || { cat log; exit 1; }
block '$ seq 3' ... 'no such line' ... >page.md
cp page.md before.md
! python3 "$root/tests/user/page.py" page.md --write >log || { echo "--write: a line without a counterpart is not reported"; exit 1; }
grep -qF 'a line that is shown has no counterpart' log
diff before.md page.md
