# A Slurm of its own for a test (source it): munged, slurmctld and two slurmd of this machine, as the user who runs the test, with
# a configuration in a temporary folder. Its nodes are called 127.0.0.2 and 127.0.0.3, so that their names are addresses.
slurm_pids=()
slurm_dir=

slurm_start() { # false, with "skipped: ..." on the screen: there is no Slurm, or it does not run here
    local tool host ports node
    export PATH=$PATH:/usr/sbin:/sbin
    for tool in munged slurmctld slurmd srun sbatch scancel sinfo; do
        command -v $tool >/dev/null || { echo "skipped: no Slurm ($tool of Debian's slurm-wlm is not installed)"; return 1; }
    done
    slurm_dir=$(mktemp -d) # short: it holds sockets
    host=$(uname -n)
    host=${host%%.*}
    read -ra ports <<<"$(perl -MIO::Socket::INET -e 'my @s = map { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") } 1 .. 3;
        print join(" ", map { $_->sockport } @s)')"
    cat >"$slurm_dir/slurm.conf" <<CONF
ClusterName=skiff
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$slurm_dir/munge.socket
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool.%n
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=127.0.0.2 NodeAddr=127.0.0.2 NodeHostname=$host Port=${ports[1]} CPUs=32
NodeName=127.0.0.3 NodeAddr=127.0.0.3 NodeHostname=$host Port=${ports[2]} CPUs=32
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
    mkdir "$slurm_dir/state" "$slurm_dir/spool.127.0.0.2" "$slurm_dir/spool.127.0.0.3"
    (umask 077 && head -c 64 /dev/urandom >"$slurm_dir/munge.key")
    export SLURM_CONF=$slurm_dir/slurm.conf
    munged --foreground --force --key-file="$slurm_dir/munge.key" --socket="$slurm_dir/munge.socket" --pid-file="$slurm_dir/munge.pid" \
        --log-file="$slurm_dir/munge.log" --seed-file="$slurm_dir/munge.seed" >"$slurm_dir/munged.out" 2>&1 &
    slurm_pids+=($!)
    until [ -S "$slurm_dir/munge.socket" ] || ! kill -0 "${slurm_pids[0]}" 2>/dev/null; do sleep 0.05; done
    slurmctld -D >"$slurm_dir/slurmctld.log" 2>&1 &
    slurm_pids+=($!)
    for node in 127.0.0.2 127.0.0.3; do
        slurmd -D -N $node >"$slurm_dir/slurmd.$node.log" 2>&1 &
        slurm_pids+=($!)
    done
    for _ in $(seq 300); do
        [ "$(sinfo -h -N -o %T 2>/dev/null | paste -sd' ')" = "idle idle" ] && return 0
        kill -0 "${slurm_pids[@]}" 2>/dev/null || break
        sleep 0.1
    done
    echo "skipped: Slurm does not run here: $(grep -hiE 'fatal|error' "$slurm_dir"/*.log "$slurm_dir"/munged.out | tail -n 1)"
    slurm_stop
    return 1
}

slurm_stop() { # a daemon that does not end by itself (slurmd may wait for a step for ever) is killed
    local p
    [ -n "$slurm_dir" ] || return 0
    scancel --user="$(id -un)" 2>/dev/null
    for p in "${slurm_pids[@]}"; do kill "$p" 2>/dev/null; done
    for _ in $(seq 50); do
        kill -0 "${slurm_pids[@]}" 2>/dev/null || break
        sleep 0.1
    done
    # steps have no parent process here: their environment tells which job they belong to
    for p in "${slurm_pids[@]}" $(grep -lsaF "SLURM_CONF=$slurm_dir/" /proc/[0-9]*/environ | tr -dc '0-9\n'); do
        kill -9 "$p" 2>/dev/null
    done
    wait "${slurm_pids[@]}" 2>/dev/null
    rm -rf "$slurm_dir"
    slurm_dir='' slurm_pids=()
}
