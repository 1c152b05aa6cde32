#!/usr/bin/env bash
# Ranks that Slurm's srun and Open MPI's mpirun start, without a variable of Paddle's: one collective job with the bits of one that
# was started by hand; a batch script is one process; errors name what cannot become ranks.
. "$(dirname "$0")/slurm.sh"
. "$(dirname "$0")/ranks.sh"
trap 'slurm_stop; rm -rf "$work"' EXIT
unset PADDLE_TRAINERS_NUM PADDLE_TRAINER_ENDPOINTS PADDLE_TRAINER_ID SKIFF_COLLECTIVE
adam="hyper_parameters.optimizer.class=Adam hyper_parameters.optimizer.learning_rate=0.01"

name="by hand"
start 2 "$skiff" $(train few hand 100 $adam)
finish 0 0
PADDLE_TRAINERS_NUM=2 PADDLE_TRAINER_ID=0 "$skiff" $(train few alone 100) >out 2>&1 && fault "2 ranks without addresses, and status 0"
says out "PADDLE_TRAINERS_NUM is 2, but PADDLE_TRAINER_ENDPOINTS is not set"
rm -f rank.*

cat >group.py <<'END'
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
sum = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(sum)
with open("group.%d" % dist.get_rank(), "w") as f:
    f.write("%d of %d: %g" % (dist.get_rank(), dist.get_world_size(), sum.item()))
END
group() { # N: what all ranks of the script have written
    local i
    for ((i = 0; i < $1; i++)); do
        [ "$(cat group.$i 2>&1)" = "$i of $1: $(($1 * ($1 + 1) / 2))" ] || fault "rank $i of the script: $(cat group.$i 2>&1)"
    done
    rm -f group.?
}
ranks() { # FOLDER ENGINE COMMAND...: two ranks that train as those by hand
    local folder=$1 engine=$2
    shift 2
    "$@" "$skiff" $(train few "$folder" 100 $adam) >out 2>&1 || fault "status $?: $(tail -n 3 out)"
    grep -qE "2 ranks, collective \\($engine(, shared memory)?\\)" out || fault "not by $engine: $(grep ranks, out)"
    same hand/1 "$folder/1" 0
}

slurm() {
    name="srun, two nodes"
    ranks nodes net srun -N 2 -n 2
    name="srun, one node"
    ranks node net srun -N 1 -n 2
    name="srun, dealt in turn"
    srun -N 2 -n 3 --distribution=cyclic "${python[@]}" group.py >out 2>&1 || fault "status $?: $(tail -n 3 out)"
    group 3
    name="srun --mpi=pmi2"
    srun -N 2 -n 4 --mpi=pmi2 "${python[@]}" group.py >out 2>&1 || fault "status $?: $(tail -n 3 out)"
    group 4

    name="one process of two, on purpose"
    PADDLE_TRAINERS_NUM=1 srun -N 2 -n 2 bash -c 'exec "$0" "$@" runner.model_save_path=single.$SLURM_PROCID' \
        "$skiff" $(train joint_few unused 200 $adam) >out 2>&1 || fault "status $?: $(tail -n 3 out)"
    same single.0/1 single.1/1 0

    name="a batch script of several tasks"
    printf '#!/bin/bash\n%s\n' "$skiff $(train joint_few batch 200 $adam | tr '\n' ' ')" >batch.sh
    timeout 300 sbatch --wait --nodes=2 --ntasks=2 --output=out batch.sh >/dev/null 2>&1 || fault "status $?: $(tail -n 3 out)"
    same single.0/1 batch/1 0

    name="a distribution that is not known"
    srun -N 2 -n 4 --distribution=plane=2 "$skiff" $(train few plane 100) >out 2>&1 && fault "status 0"
    says out "SLURM_DISTRIBUTION is 'plane': which rank is on which node is known for block and cyclic only"
    [ ! -e plane ] || fault "something was trained"
}
if slurm_start; then slurm; fi

mpi() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    local run=(mpirun --oversubscribe --bind-to none -n 2)
    name="mpirun"
    ranks mpi mpi "${run[@]}"
    grep -F "is bound to" out && fault "nobody has bound these ranks"
    if [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ]; then
        "${run[@]}" taskset -c 0 "$skiff" $(train few bound 100 $adam) >out 2>&1 || fault "bound, status $?: $(tail -n 3 out)"
        says out "this rank is bound to 1 of"
    fi
    name="mpirun, the engine net"
    ranks mpi_net net env SKIFF_COLLECTIVE=net "${run[@]}"
    name="mpirun, a library that cannot be loaded"
    mkdir broken && : >broken/libmpi.so.40
    ranks mpi_less net "${run[@]}" -x LD_LIBRARY_PATH="$work/broken"
    name="mpirun and a script"
    "${run[@]}" "${python[@]}" group.py >out 2>&1 || fault "status $?: $(tail -n 3 out)"
    group 2
    name="mpirun on several machines without MPI"
    "${run[@]}" -x OMPI_COMM_WORLD_LOCAL_SIZE=1 -x LD_LIBRARY_PATH="$work/broken" env OMPI_COMM_WORLD_LOCAL_SIZE=1 \
        "$skiff" $(train few far 100) >out 2>&1 && fault "status 0"
    says out "mpirun has started 2 ranks on several machines, whose addresses it does not give, and MPI cannot be loaded"
}
if command -v mpirun >/dev/null; then mpi; else echo "skipped: no mpirun"; fi
exit $failed
