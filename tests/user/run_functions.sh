#!/usr/bin/env bash
# skiff inspect functions: every declared function with its arguments, one in full, one that is not there.
set -euo pipefail
skiff=${BUILD:?}/skiff
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAIL: $*"
    exit 1
}

"$skiff" inspect functions >"$dir/all"
[ "$(wc -l <"$dir/all")" -gt 150 ] || fail "only $(wc -l <"$dir/all") functions"
grep -xF 'nn.functional.leaky_relu(x, negative_slope=0.01, name=None)' "$dir/all" >/dev/null || fail "no leaky_relu"
[ -z "$(sort "$dir/all" | uniq -d)" ] || fail "twice: $(sort "$dir/all" | uniq -d)"

"$skiff" inspect functions paddle.nn.functional.linear >"$dir/one"
diff - "$dir/one" <<'END' || fail "inspect functions linear"
paddle.nn.functional.linear(x, weight, bias=None, name=None)
    x @ weight + bias
    ops: matmul_v2: X=x Y=weight trans_x=False trans_y=False
         elementwise_add: X=. Y=bias axis=-1 if bias
END

if "$skiff" inspect functions nn.functional.rellu >"$dir/out" 2>&1; then
    fail "a function that is not there is found"
fi
grep -F 'no function nn.functional.rellu (did you mean nn.functional.relu?)' "$dir/out" >/dev/null || fail "$(cat "$dir/out")"
echo ok
