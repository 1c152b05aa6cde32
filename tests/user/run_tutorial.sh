#!/usr/bin/env bash
# docs/guide/tutorial.md and docs/zh/tutorial.md: every command in them runs and prints what the page shows; the helper that says so
# can fail.
set -euo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for page in docs/guide/tutorial.md docs/zh/tutorial.md; do
    folder=$work/${page//\//-}
    mkdir "$folder"
    cd "$folder"
    ln -s "$root/examples" examples
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
expect_fault 'it does not print: more' 'auc 0.8100 of 7 rows' ... more
expect_fault 'it does not print: (nothing more)' 'auc 0.8100 of 7 rows'
expect_fault 'status 3' ... end '$ exit 3'
