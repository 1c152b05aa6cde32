#!/usr/bin/env bash
# wait.sh JOB...: waits until all Jobs are complete (status 0) or one has failed (status 1, with the reason and its last lines).
# `kubectl wait --for=condition=complete` would not notice a failure before its timeout.
set -uo pipefail
: "${1:?a name is missing: wait.sh JOB...}"
errors=0
while :; do
    complete=0
    for job in "$@"; do
        if ! state=$(kubectl get job "$job" -o jsonpath='{range .status.conditions[?(@.status=="True")]}{.type}: {.message}{"\n"}{end}'); then
            errors=$((errors + 1)) # the API server may be away for a while
            [ $errors -lt 5 ] || exit 2
            break
        fi
        errors=0
        case $'\n'$state in
        *$'\nFailed:'*)
            echo "job/$job: $state" >&2
            kubectl logs --tail=20 "job/$job" >&2
            exit 1
            ;;
        *$'\nComplete:'*) complete=$((complete + 1)) ;;
        esac
    done
    [ $complete -lt $# ] || exit 0
    sleep "${INTERVAL:-5}"
done
