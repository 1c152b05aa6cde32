# Words of the scripts about sparse tables (source it in a folder of your own, with $skiff and $name set): what must be
# seen in `said`, the last output, and two passes of a day of made-up rows.
failed=0
fault() { echo "$name: $*"; tail -n 5 said 2>/dev/null | sed 's/^/    /'; failed=1; }
says() { for text in "$@"; do grep -qF -- "$text" said || fault "does not say: $text"; done; }
run() { "$skiff" "$@" >said 2>&1 || fault "skiff $1 ended with $?"; }
refuses() { "$skiff" "$@" >said 2>&1 && fault "skiff $1 takes it"; }

rows() { # SEED ROWS: MultiSlot lines, a label and two ids; the first id decides much
    awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed); for (i = 0; i < n; i++) { a = 1 + int(rand() * 40); b = 1e12 + int(rand() * 30);
        printf "1 %d 1 %d 1 %.0f\n", rand() < (a % 4 ? 0.15 : 0.7), a, b } }'
}
mkdir -p data/20190720/1 data/20190720/2
rows 1 600 >data/20190720/1/part-0
rows 2 400 >data/20190720/2/part-0
