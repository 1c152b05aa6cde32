#!/usr/bin/env bash
# The examples of docs/guide/data.md: every file and every config in it is written out as it stands there; check-data must find
# nothing wrong, training must go through.
set -uo pipefail
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
skiff=$PWD/${BUILD:-build}/skiff
root=$PWD
page=$root/docs/guide/data.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
python3 "$root/tests/user/page.py" "$page" --files
failed=0 count=0
for config in *.yml; do
    count=$((count + 1))
    for command in check-data train; do
        "$skiff" $command -m "$config" >log 2>&1 || {
            echo "FAILED: skiff $command -m $config"
            tail -n 5 log
            failed=1
        }
    done
    grep -qE '^Epoch: 0, ' log || { echo "FAILED: $config trained nothing"; failed=1; }
done
echo "$count examples"
[ "$count" -ge 10 ] || { echo "FAILED: where are the examples?"; failed=1; }

# what the settings mean, by the samples that come of them: an id of each column of its own, a scaled number
rows=$("$skiff" check-data -m learnt.yml 2>&1)
grep -qE '^work class +C1 ' <<<"$rows" || { echo "FAILED: no slot C1 in:"; echo "$rows"; failed=1; }

# a wrong word in an example is noticed
sed 's/C1 = work class/C1 = work/' people.yml >wrong.yml
if "$skiff" check-data -m wrong.yml >log 2>&1 || ! grep -qF 'there is no column "work" (slot "C1")' log; then
    echo "FAILED: a column that is not there:"
    tail -n 5 log
    failed=1
fi
exit $failed
