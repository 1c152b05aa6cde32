#!/usr/bin/env bash
# Users' pages have short sentences and say first who needs them, nothing is misspelt, and tools/check-prose notices when it is not so.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/check-prose

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
good=$work/good dir=$work/dir
mkdir -p "$good"/{docs/guide,docs/internals,src/ops,tests/data,build}
words() { # COUNT: so many words
    printf 'word %.0s' $(seq "$1")
}

# A small project without faults: sentences of 30 words everywhere, longer ones where they do not count.
cat >"$good/README.md" <<END
# A title may be as long as it likes: $(words 30)

For everybody. Then $(words 28) \`a command of many words\`. This is e.g. no end of a sentence, and [a link](docs/guide/a.md)
is its text. Lines
belong together: $(words 27).

- $(words 30)
- $(words 15)
  $(words 15)

| $(words 30) | $(words 30) |
|---|---|
| $(words 30) | \`a | b\` $(words 29)|

    code $(words 40)

\`\`\`console
$(words 40)
\`\`\`
END
printf '# Guide\n\nFor users of tables.\n' >"$good/docs/guide/a.md"
printf '# Internals\n\n%s\n' "$(words 40)" >"$good/docs/internals/a.md"
printf '/* A text whose words are right. */\nputs("\\nd\\te");\n' >"$good/src/ops/a.c"
wrong=rec$(printf ieve)
for name in tests/data build; do echo "$wrong" >"$good/$name/a.txt"; done
tools/check-prose "$good" >"$work/out" || { echo "a good project is refused:"; cat "$work/out"; exit 1; }

expect_fault() { # FILE LINES TEXT: FILE gets LINES, and the check must fail with TEXT and nothing else
    rm -rf "$dir"
    cp -r "$good" "$dir"
    printf '%b\n' "$2" >>"$dir/$1"
    if tools/check-prose "$dir" >"$work/out"; then
        echo "not noticed: $1 with $2"
        exit 1
    fi
    grep -qF -- "$3" "$work/out" || { echo "expected '$3', got:"; cat "$work/out"; exit 1; }
    [ "$(wc -l <"$work/out")" -eq 1 ] || { echo "expected one fault, got:"; cat "$work/out"; exit 1; }
}
expect_fault docs/guide/a.md "\nTwo words. Then $(words 30)" "docs/guide/a.md:5: 31 words (limit 30): Then word word word word word word word ..."
expect_fault docs/guide/a.md "\n$(words 20)\n$(words 11)" "docs/guide/a.md:5: 31 words"
expect_fault docs/guide/a.md "\nShort.\nShort. Long $(words 20)\n$(words 10)" "docs/guide/a.md:6: 31 words"
expect_fault docs/guide/a.md "\n- $(words 31)" "docs/guide/a.md:5: 31 words"
expect_fault docs/guide/a.md "\n- Short.\n\n  $(words 31)" "docs/guide/a.md:7: 31 words"
expect_fault docs/guide/a.md "\n| a | $(words 31) |" "docs/guide/a.md:5: 31 words"
expect_fault docs/guide/b.md "# No paragraph" "docs/guide/b.md:1: no sentence after the title says who needs this page"
expect_fault docs/guide/b.md "# Table first\n\n| a |\n|---|\n\nText." "docs/guide/b.md:1: no sentence"
expect_fault docs/guide/b.md "# List first\n\n- a\n\nText." "docs/guide/b.md:1: no sentence"
expect_fault docs/guide/b.md "Text without a title." "docs/guide/b.md:1: no sentence"
expect_fault docs/guide/b.md "# Long\n\n$(words 31). Short." "docs/guide/b.md:3: 31 words"
if command -v codespell >/dev/null; then
    expect_fault src/ops/a.c "/* $wrong */" "src/ops/a.c:3: \"$wrong\": write receive"
    expect_fault src/ops/a.c "/* cl$(printf ik) */" "write click" # right in other folders only
else
    echo "skipped: no codespell"
fi
echo "faults are noticed"
