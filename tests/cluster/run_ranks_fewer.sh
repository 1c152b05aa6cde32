#!/usr/bin/env bash
# skiff train whose ranks exchange less often, by keys of the config: gradient merge is the step of one process with the rows of
# all its batches, local SGD with a mean after every step is that of the joint batch; ranks without rows take part. Sums
# that overlap a step and sums after it have the same bits; ranks of different batches and rates; errors.
. "$(dirname "$0")/ranks.sh"

sgd="hyper_parameters.optimizer.class=SGD hyper_parameters.optimizer.learning_rate=0.01"
adam="hyper_parameters.optimizer.class=Adam hyper_parameters.optimizer.learning_rate=0.01"
merge="runner.gradient_merge=True runner.gradient_merge_configs.k_steps=2"
mkdir joint_even
cp few/a even/a
tail -n 1000 all >even/b
join_batches even >joint_even/all
alone() { # arguments of skiff train
    "$skiff" "$@" >out 2>&1 || fault "alone: $(tail -n 1 out)"
}
differ() { # FOLDER FOLDER
    [ "$(difference "$1" "$2")" != 0.0 ] || fault "$1 and $2 are the same"
}

name="sums beside the step"
start 2 "$skiff" $(train few here 100 $adam)
finish 0 0
SKIFF_NO_SHARED_MEMORY=1 start 2 "$skiff" $(train few letters 100 $adam)
finish 0 0
same here/1 letters/1 0

name="gradient merge alone"
alone $(train joint_even one 200 $adam)
alone $(train joint_even merged 50 $adam runner.gradient_merge=True runner.gradient_merge_configs.k_steps=4)
same one/1 merged/1 2e-5
alone $(train joint_even sums 50 $adam runner.gradient_merge_configs.k_steps=4)
differ one/1 sums/1 # the configs alone do nothing

name="gradient merge of ranks"
start 2 "$skiff" $(train even merged2 50 $adam $merge)
finish 0 0
same one/1 merged2/1 2e-5
start 2 "$skiff" $(train even merged3 50 $adam $merge runner.gradient_merge_configs.avg=False)
finish 0 0
differ merged2/1 merged3/1

name="gradient merge, a rank without rows"
alone $(train joint_none one_none 200 $adam)
start 2 "$skiff" $(train none merged_none 50 $adam $merge)
finish 0 0
same one_none/1 merged_none/1 2e-5

name="gradient merge, resume between two updates"
start 2 "$skiff" $(train even whole 50 $adam $merge runner.gradient_merge_configs.k_steps=3 runner.epochs=1)
finish 0 0
start 2 "$skiff" $(train even whole 50 $adam $merge runner.gradient_merge_configs.k_steps=3) --resume
finish 0 0
says rank.0 "resuming from"
three="runner.gradient_merge=True runner.gradient_merge_configs.k_steps=3"
alone $(train joint_even piece 100 $adam $three) # 20 batches an epoch
alone $(train joint_even parts 100 $adam $three runner.epochs=1)
alone $(train joint_even parts 100 $adam $three) --resume
same piece/1 parts/1 0

name="local SGD with a mean after every step"
alone $(train joint_even one_sgd 200 $sgd)
start 2 "$skiff" $(train even local1 100 $sgd runner.localsgd=True)
finish 0 0
same one_sgd/1 local1/1 2e-5

name="local SGD"
local="runner.localsgd=True runner.localsgd_configs.k_steps=4"
start 2 "$skiff" $(train even local4 100 $adam $local)
finish 0 0
start 2 "$skiff" $(train even again 100 $adam $local)
finish 0 0
same local4/1 again/1 0
differ local4/1 local1/1
start 2 "$skiff" $(train none local_none 100 $adam $local)
finish 0 0
grep -q '^ *1 *1900 ' rank.0 || fault "not all rows were trained"

name="other batch sizes"
mkdir half joint_half
cp few/a half/a
head -n 500 few/b >half/b
awk -v a=100 -v b=50 'FNR == 1 { f++ } { n = f == 1 ? a : b; at = int((FNR - 1) / n); row[f, at] = row[f, at] $0 "\n" }
    END { for (i = 0; i < 10; i++) printf "%s%s", row[1, i], row[2, i] }' half/a half/b >joint_half/all
alone $(train joint_half one_half 150 $adam)
echo runner.train_batch_size=50 >own.1
start 2 "$skiff" $(train half two_half 100 $adam)
finish 0 0
same one_half/1 two_half/1 2e-5

name="another rate"
echo hyper_parameters.optimizer.learning_rate=0.02 >own.1
start 2 "$skiff" $(train few rates 100 $adam)
finish 1 1
for i in 0 1; do
    says rank.$i "rank 1 trains with other numbers than rank 0: learning_rate_0 = 0.02"
    says rank.$i ", not learning_rate_0 = 0.01; parameters would become different ones"
done
name="other numbers of steps"
echo runner.gradient_merge_configs.k_steps=3 >own.1
start 2 "$skiff" $(train few steps 100 $adam $merge)
finish 1 1
says rank.0 "rank 1 trains with other numbers than rank 0: gradient_merge_k = 3, not gradient_merge_k = 2; parameters"
echo runner.localsgd_configs.k_steps=5 >own.1
start 2 "$skiff" $(train few steps 100 $adam $local)
finish 1 1
says rank.1 "rank 1 trains with other numbers than rank 0: local_sgd_k = 5, not local_sgd_k = 4; parameters"
rm own.1

refuses() { # TEXT, arguments of skiff train
    "$skiff" "${@:2}" >out 2>&1 && fault "went on: ${*:2}"
    says out "$1"
}
name="refusals"
refuses "gradient merge: one thread counts batches and adds up their gradients, not 2; train with one thread" \
    $(train few r1 100 $merge runner.thread_num=2)
refuses "runner.gradient_merge and runner.localsgd exclude each other; remove one of them" \
    $(train few r2 100 $merge runner.localsgd=True)
refuses "runner.gradient_merge_configs.k_steps" $(train few r3 100 $merge runner.gradient_merge_configs.k_steps=0)
refuses "runner.gradient_merge_configs.steps" $(train few r4 100 runner.gradient_merge_configs.steps=2)
for key in gradient_merge localsgd; do
    TRAINING_ROLE=TRAINER PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:1 PADDLE_TRAINERS_NUM=1 PADDLE_TRAINER_ID=0 \
        refuses "runner.$key is for ranks without servers" $(train few r5 100 runner.$key=True)
done

[ $failed = 0 ] && echo "run_ranks_fewer: all is well"
exit $failed
