#!/usr/bin/env bash
# README.md: the commands of "From a CSV to predictions" run and print what the page shows; the page has at most 130 lines, and
# its pictures are there, that of the architecture in a form that browsers read.
set -euo pipefail
root=$PWD
export PATH=$root/${BUILD:-build}:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/user/page.sh
page_folder README.md "$work"
cd "$work"
python3 "$root/tests/user/page.py" "$root/README.md" | tee log
grep -qx 'README.md: 4 commands' log || { echo "README.md: not four commands from a CSV to predictions"; exit 1; }
[ -s run/model/report.html ] || { echo "no report of the run"; exit 1; }
lines=$(wc -l <"$root/README.md")
[ "$lines" -le 130 ] || { echo "README.md has $lines lines; at most 130"; exit 1; }
sed -n 's/.*<img src="\([^"]*\)".*/\1/p' "$root/README.md" >pictures
[ "$(wc -l <pictures)" -eq 2 ] || { echo "README.md: expected two pictures, found: $(cat pictures)"; exit 1; }
while read -r picture; do [ -s "$root/$picture" ] || { echo "README.md: no picture $picture"; exit 1; }; done <pictures
python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$root/docs/img/architecture.svg"
