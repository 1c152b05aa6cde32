#!/usr/bin/env bash
# Secrets of jobs with real processes: who needs one, how it is made and distributed, where it must not appear, the
# answers to unauthenticated peers. On loopback; the other machine of --share_secret is this one, with a fake ssh.
set -uo pipefail
. "$(dirname "$0")/small.sh"
skiff=$(realpath "${BUILD:-build}")/skiff
work=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME=$work/home
mkdir home
unset SKIFF_SECRET SKIFF_SECRET_FILE SKIFF_JOB SKIFF_INSECURE SKIFF_ENCRYPT
failed=0 name=setup

fault() {
    echo "$name: $*"
    sed 's/^/    /' out err 2>/dev/null | tail -n 20
    failed=1
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || fault "$1 does not say: $2"
}
run() { # STATUS command
    local want=$1 got
    shift
    timeout 120 "$@" >out 2>err
    got=$?
    [ "$got" = "$want" ] || fault "exit status $got, expected $want: $*"
}

"$skiff" synth --rows 600 --test-rows 100 --files 2 --out data >/dev/null || exit 1
small_config SGD 'train_data_dir: data/train' 'input_format: criteo' 'train_batch_size: 100' 'epochs: 1' 'split_file_list: True' >config.yaml

name="skiff secret"
run 0 "$skiff" secret new --out home/.skiff/secret
[ "$(stat -c %a home/.skiff/secret)" = 600 ] || fault "mode $(stat -c %a home/.skiff/secret)"
secret=$(cat home/.skiff/secret)
[ "${#secret}" = 64 ] || fault "a secret of ${#secret} characters"
run 1 "$skiff" secret new --out home/.skiff/secret
says err "already exists; a secret is never overwritten"
run 0 "$skiff" secret new by_name
[ "$(stat -c %a by_name)/$(wc -c <by_name)" = 600/65 ] || fault "by_name: $(stat -c %a by_name), $(wc -c <by_name) bytes"
run 0 "$skiff" secret check by_name
says out "by_name: ok: only its owner can read it"
run 2 "$skiff" secret new one --out two
says err "one file is expected behind new"
run 2 "$skiff" secret new one two
run 2 "$skiff" secret make
says err "expected new, send or check, found make"
[ "$(cat home/.skiff/secret)" = "$secret" ] || fault "it was written over"
run 0 "$skiff" secret check
chmod 640 home/.skiff/secret
run 1 "$skiff" secret check
says err "can be used by others (mode 640): chmod 600 $work/home/.skiff/secret"
chmod 600 home/.skiff/secret
run 2 "$skiff" secret send
says err "--hosts LIST is needed"

name="several machines without a secret"
run 1 "$skiff" launch --servers 192.0.2.1:6170,127.0.0.1:6171 --workers 192.0.2.1,127.0.0.1 -m config.yaml
says err "a job of several machines needs a secret"
says err "skiff secret new --out FILE"
env PADDLE_PSERVERS_IP_PORT_LIST=192.0.2.1:6170 TRAINING_ROLE=TRAINER PADDLE_TRAINERS_NUM=1 PADDLE_TRAINER_ID=0 \
    timeout 60 "$skiff" train -m config.yaml >out 2>err && fault "a worker goes on"
says err "server 0 is at 192.0.2.1:6170, which other machines can reach, and this job has no secret"
env PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:6170 TRAINING_ROLE=PSERVER POD_IP=127.0.0.1 PADDLE_PORT=6170 PADDLE_TRAINERS_NUM=1 \
    SKIFF_LISTEN='*:6170' timeout 60 "$skiff" train -m config.yaml >out 2>err && fault "a server serves"
says err "is at *:6170, which other machines can reach"

name="ssh hands it out"
mkdir bin other
cat >bin/ssh <<'END'
#!/bin/bash
# ssh -o ... -- HOST COMMAND: the other machine is a folder
args="$*"
while [ "$1" != -- ]; do shift; done
echo "$args" >>"$WORK/ssh.log"
cat /proc/$PPID/cmdline | tr '\0' ' ' >>"$WORK/ssh.log"
cd "$WORK/other" && HOME=$WORK/other exec bash -c "$3"
END
chmod +x bin/ssh
WORK=$work PATH=$work/bin:$PATH run 0 "$skiff" secret send --hosts me@far,near
[ "$(cat other/.skiff/secret)" = "$secret" ] || fault "it has not come over"
[ "$(stat -c %a other/.skiff/secret)" = 600 ] || fault "mode $(stat -c %a other/.skiff/secret) over there"
[ "$(grep -c -- '-- me@far\|-- near' ssh.log)" = 2 ] || fault "not sent to both"
grep -qF "$secret" ssh.log && fault "the secret is in a command line"
WORK=$work PATH=$work/bin:$PATH run 1 "$skiff" secret send --hosts x --to "/proc/no/'such"
says err "the secret could not be copied to x: ssh ended with status"
rm -rf other/.skiff
# the launcher of server 0's machine; its job waits for the other machine and is ended
WORK=$work PATH=$work/bin:$PATH timeout 20 "$skiff" launch --share_secret --servers 127.0.0.1:16170,192.0.2.1:16170 --workers 127.0.0.1,192.0.2.1 -- true >out 2>err
says err "sending the job's secret to 192.0.2.1"
[ "$(cat other/.skiff/secret.*)" = "$(cat home/.skiff/secret.*)" ] || fault "the other machine has another secret"

name="a job with a secret file, encrypted, and where the secret is seen"
run 0 "$skiff" launch --secret_file home/.skiff/secret --encrypt on --server_num 2 --worker_num 2 -m config.yaml
grep -qE "worker 0 \(.*\) has connected from 127.0.0.1:[0-9]+, encrypted" log/serverlog.1 || fault "no line tells who came in: $(cat log/serverlog.1)"
grep -rqF "$secret" log model out err && fault "the secret is in $(grep -rlF "$secret" log model out err)"
printf '%s\n' "security: {encrypt: off, secret_file: home/.skiff/secret}" >>config.yaml
run 0 "$skiff" launch --server_num 1 --worker_num 2 -m config.yaml
grep -qE "has connected from 127.0.0.1:[0-9]+, authenticated" log/serverlog.0 || fault "no line tells who came in: $(cat log/serverlog.0)"
run 1 "$skiff" launch --encrypt perhaps --server_num 1 --worker_num 1 -m config.yaml
says err "encrypt is 'perhaps'; expected auto, on or off"
[ "$failed" = 0 ] || exit 1
