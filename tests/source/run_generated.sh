#!/usr/bin/env bash
# Man pages, pages of docs/reference/commands and completions are made from the tables that --help is printed from: every command and flag stands in all of
# them, the pages are clean, and the shells complete what they should.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
skiff=$build/skiff
man=$build/share/man/man1
completions=$build/share/completions
failed=0
fault() {
    echo "$*"
    failed=1
}
has() { # FILE TEXT, without what man(7) and shells need between letters
    grep -qF -e "$2" <(sed 's/\\-/-/g' "$1") || fault "$1 does not have $2"
}

commands=$("$skiff" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 12 ] || fault "skiff --help lists only: $commands"
for command in $commands; do
    page=$man/skiff-$command.1
    has "$man/skiff.1" "$command"
    flags=$("$skiff" "$command" --help | grep -oE '^ +(-[a-z], )?--[a-z_-]+' | grep -oE -e '--[a-z_-]+' | sort -u)
    case $command in
    python | inspect) ;; # python has none, inspect has parts
    *) [ -n "$flags" ] || fault "no flags in skiff $command --help" ;;
    esac
    for file in "$completions/bash/skiff" "$completions/zsh/_skiff" "$completions/fish/skiff.fish"; do
        has "$file" "$command"
    done
    for flag in $flags; do
        has "$page" "$flag"
        has "$completions/bash/skiff" "$flag"
        has "$completions/zsh/_skiff" "$flag"
        has "$completions/fish/skiff.fish" "-l ${flag#--}"
    done
done
"$skiff" launch --help | grep -e '--cluster_node_ips' >/dev/null || fault "--help does not show flags that are ignored"
has "$man/skiff-launch.1" --cluster_node_ips
has "$man/skiff.1" SKIFF_SECRET
has "$man/skiff.1" "skiff $("$skiff" --version | cut -d' ' -f2)"

# docs/reference/commands is what this build makes; an outdated, missing or superfluous page is reported
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$skiff" _generate markdown "$pages" || fault "no pages"
same_pages() { diff -r docs/reference/commands "$pages"; }
same_pages || fault "docs/reference/commands is old: make docs"
[ "$(ls "$pages" | wc -l)" -eq $(($(wc -w <<<"$commands") + 1)) ] || fault "pages: $(ls "$pages")"
echo "a line" >>"$pages/train.md"
same_pages >/dev/null && fault "an old page is not noticed"
grep -F '| `--encrypt on\|off\|auto` |' docs/reference/commands/launch.md >/dev/null || fault "docs/reference/commands/launch.md: --encrypt"
grep -F '([docs/guide/distributed.md](../../guide/distributed.md))' docs/reference/commands/train.md >/dev/null || fault "docs/reference/commands/train.md: no link"
# so is the list of metrics at the end of docs/reference/metrics.md
"$skiff" _generate metrics "$pages" || fault "no list of metrics"
same_metrics() { diff <(sed -n '/^| metric | type/,$p' docs/reference/metrics.md) "$pages/metrics.md"; }
same_metrics || fault "the list in docs/reference/metrics.md is old: make docs"
sed -i 2d "$pages/metrics.md"
same_metrics >/dev/null && fault "an old list of metrics is not noticed"
# the tables of keys in configuration.md are those of the code
keys_page=$(mktemp -d)
trap 'rm -rf "$pages" "$keys_page"' EXIT
cp docs/reference/configuration.md "$keys_page"
"$skiff" _generate keys "$keys_page" || fault "no tables of keys"
diff docs/reference/configuration.md "$keys_page/configuration.md" || fault "docs/reference/configuration.md is old: make docs"
sed -i 's/^| `runner.seed`.*/| `runner.seed` | 1 |/' "$keys_page/configuration.md"
"$skiff" _generate keys "$keys_page" && cmp docs/reference/configuration.md "$keys_page/configuration.md" || fault "a changed table is not made anew"
refuses_page() { # SED TEXT: a page with this change is refused
    sed "$1" docs/reference/configuration.md >"$keys_page/configuration.md"
    said=$("$skiff" _generate keys "$keys_page" 2>&1) && fault "not refused: $1"
    [[ $said == *"$2"* ]] || fault "$1: $said"
}
refuses_page 's/keys: validation/keys: valuation/' 'config/key_list.h has no group "valuation"'
refuses_page '/keys: validation/,/end of keys/d' 'no table of the page has the group "validation"'
refuses_page '/end of keys/d' 'has no end'
said=$("$skiff" _generate html "$pages" 2>&1)
[ $? -eq 2 ] && [[ $said == *"expected man, markdown, completions, keys or metrics, found html"* ]] || fault "_generate html: $said"

if command -v groff >/dev/null; then
    for page in "$man"/skiff*.1; do
        said=$(groff -ww -man -Tutf8 -z "$page" 2>&1)
        [ -z "$said" ] || fault "$page: $said"
    done
else
    echo "skipped: man pages are not rendered, groff is not installed"
fi
if command -v man >/dev/null; then
    for page in fleetrun skiff-launch; do
        MANWIDTH=100 man -M "$build/share/man" "$page" 2>/dev/null | grep 'start N servers on this machine' >/dev/null || fault "man $page"
    done
else
    echo "skipped: man is not installed"
fi

# asks the function that the shell would ask: completes WORDS WANTED, the last word being completed
source "$completions/bash/skiff"
completes() {
    local -a COMP_WORDS=($1)
    [[ $1 == *' ' ]] && COMP_WORDS+=('')
    local COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY
    _skiff
    [ "${COMPREPLY[*]}" = "$2" ] || fault "bash completes '$1' to '${COMPREPLY[*]}', expected '$2'"
}
completes "skiff tr" "train"
completes "skiff train --re" "--resume"
completes "skiff train -m x --re" "--resume"
completes "skiff lau" "launch launch-ps"
completes "skiff help inf" "infer"
completes "skiff inspect " "program model ops layers functions tensor table metrics --help"
completes "skiff inspect t" "tensor table"
completes "skiff inspect tensor --p" "--program"
completes "fleetrun --ser" "--server_num --servers --server_memory"
completes "skiff launch --log_dir tests/gold" "tests/golden"
completes "skiff train config" ""
completes "skiff config runner.geo" "runner.geo_step"
completes "skiff config --se" "--set"
completes "skiff config -m x -o runner.geo" "runner.geo_step="
completes "skiff train -m x -o runner.epochs=3 runner.geo" "runner.geo_step="
completes "skiff train -m x -o a=1 --re" "--resume"
completes "skiff init --model rank/d" "rank/dnn rank/deepfm rank/dcn rank/dlrm"
completes "skiff init x -o tests/gold" "tests/golden"
completes "skiff train x -o runner.model = rank/w" "rank/wide_deep" # the shell cuts words at =
completes "skiff train x -o runner.shuffle =" "True False"
completes "skiff train x -o runner.valid_metric = lo" "log_loss loss"
completes "skiff train x -o runner.epochs = " ""
completes "skiff launch x -o runner.geo" "runner.geo_step="
completes "skiff config -c runner.geo" ""
completes "skiff train -m runner.geo" ""
if command -v zsh >/dev/null; then
    zsh -n "$completions/zsh/_skiff" || fault "zsh does not read its completion"
    zsh_pairs() { # WORD WANTED: what the function behind -o offers for a word; compset and compadd are builtins of the line editor
        said=$(zsh -f -c '
            compset() { [[ $word == *=* ]] && IPREFIX=${word%%=*}= }
            compadd() { shift "${@[(i)--]}"; print -r -- "$@" }
            word=$2
            source <(sed "/^_skiff \"/d" "$1")
            _skiff_pairs' zsh "$completions/zsh/_skiff" "$1")
        [[ " $said " == *" $2 "* ]] || fault "zsh offers '$said' behind '-o $1', expected '$2'"
    }
    zsh_pairs runner. runner.geo_step
    zsh_pairs runner.model= rank/wide_deep
    zsh_pairs runner.shuffle= "True False"
else
    echo "skipped: zsh is not installed"
fi
if command -v fish >/dev/null; then
    said=$(fish --no-config -c "source $completions/fish/skiff.fish; complete -C 'skiff train --re'" | cut -f1)
    [ "$said" = --resume ] || fault "fish completes 'skiff train --re' to '$said'"
    said=$(fish --no-config -c "source $completions/fish/skiff.fish; complete -C 'skiff train -o runner.model=rank/w'" | cut -f1)
    [ "$said" = runner.model=rank/wide_deep ] || fault "fish completes '-o runner.model=rank/w' to '$said'"
else
    echo "skipped: fish is not installed"
fi
exit $failed
