#!/usr/bin/env bash
# Keys of configs are read by their number (src/config/key_list.h), never by a literal; every key that a command is said
# to read is read somewhere; faults are noticed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

# calls with a literal where the key belongs: config_int(c, "runner.epochs"), values_int(v, "runner.epochs", 1)
literals() { # SRC
    (cd "$1" && find . -name '*.[ch]' ! -name '*_test.c' -print0 | sort -z |
        xargs -0 perl -0777 -ne '
            while (/\b(config_(?!open|parse|refuse_at)\w+|values_\w+)\s*\(\s*[^,()]+(?:\([^()]*\))?\s*,\s*"([^"]*)"/g) {
                my ($call, $text, $at) = ($1, $2, substr($_, 0, $-[0]) =~ tr/\n//);
                next if $call =~ /^values_/ && $text !~ /^(runner|hyper_parameters|table_parameters|security)\b/;
                print "$ARGV:", $at + 1, ": $call with \"$text\": use the key of config/key_list.h\n";
            }')
}

# rows that some command reads, and that no file names; settings of readers and keys of models are read by their names
unread() { # SRC
    local used
    used=$(cd "$1" && find . -name '*.c' ! -name '*_test.c' ! -path './config/*' -print0 |
        xargs -0 grep -ohE '\bKEY_[A-Z0-9_]+' | sort -u
        grep -oE '\.from = KEY_\w+' "$1/config/key_list.h" | sed 's/.* //')
    perl -0777 -ne 'while (/^KEY\((\w+), "[^"]+", \w+, (?:NULL|"[^"]*"),\s*([A-Z_ |]+|0)\s*,(.*?)(?=^KEY|\z)/msg) {
            print "KEY_$1 $2\n" unless $3 =~ /by_model = true/
        }' \
        "$1/config/key_list.h" | while read -r key commands; do
        [ "$commands" = 0 ] || [[ $key =~ ^KEY_RUNNER_(INPUT|PARSE)_ ]] || grep -qx "$key" <<<"$used" ||
            echo "$key: no file reads it; without .commands it is accepted without effect"
    done
}

check() { # SRC
    local faults
    faults=$(literals "$1"; unread "$1")
    [ -z "$faults" ] || { echo "$faults"; return 1; }
}
check "$root/src"
# the settings of datasets (skiff_dataset_set) are those of the page, each with its key
settings() { grep -ohE '^    \{"\w+", OPTION' "$root/src/data/reader.c" "$root/src/data/dataset.c" | cut -d'"' -f2 | sort; }
described() { sed -n '/^## Settings of datasets/,/^## Threads/s/^| `\([a-z_]*\)` |.*/\1/p' "$root/docs/reference/c-api.md" | sort; }
diff <(settings) <(described) || { echo "docs/reference/c-api.md: settings of datasets differ from src/data (<: in the source)"; exit 1; }
sed -n '/^## Settings of datasets/,/^## Threads/s/.*`\(runner\.[a-z_]*\)`.*/\1/p' "$root/docs/reference/c-api.md" | while read -r key; do
    grep -q "\"$key\"" "$root/src/config/key_list.h" || { echo "docs/reference/c-api.md: there is no key $key"; exit 1; }
done
rows=$(grep -c '^KEY(' "$root/src/config/key_list.h")
[ "$rows" -gt 100 ] || { echo "only $rows keys were found"; exit 1; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
notices() { # FILE LINE TEXT
    rm -rf "$dir/src"
    cp -r "$root/src" "$dir/src"
    printf '%s\n' "$2" >>"$dir/src/$1"
    [[ $(check "$dir/src") == *"$3"* ]] || { echo "not noticed: $1 with $2"; exit 1; }
}
notices task/task.c 'int x = config_int(c, "runner.epochs");' 'config_int with "runner.epochs"'
notices task/task.c $'bool y = config_has(task_config(j),\n    "runner.model");' 'config_has with "runner.model"'
notices cli/main.c 'int z = values_int(v, "hyper_parameters.size", 1);' 'values_int with "hyper_parameters.size"'
notices config/key_list.h 'KEY(RUNNER_NOBODY, "runner.nobody", INT, "1", TRAIN, .help = "nothing")' 'KEY_RUNNER_NOBODY: no file'
echo "$rows keys; faults are noticed"
