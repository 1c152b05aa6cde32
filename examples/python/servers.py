"""A job with parameter servers, in words of paddle 2.x; the same file runs in every server and every worker.

    skiff launch --server_num 2 --worker_num 2 servers.py model part-0.csv part-1.csv"""
import os
import sys

import paddle
from paddle.distributed import fleet
from visits_reader import ROWS, SLOTS

paddle.enable_static()
fleet.init()
inputs = [paddle.static.data(slot, [None, 1], "int64") for slot in SLOTS]
dense = paddle.static.data("numbers", [None, 2], "float32")
label = paddle.static.data("label", [None, 1], "int64")
rows = [paddle.static.nn.sparse_embedding(x, [ROWS, 8], param_attr=paddle.ParamAttr(name="table")) for x in inputs]
hidden = paddle.concat([paddle.reshape(x, [-1, 8]) for x in rows] + [dense], axis=1)
hidden = paddle.static.nn.fc(hidden, 32, activation="relu")
predict = paddle.nn.functional.softmax(paddle.static.nn.fc(hidden, 2))
loss = paddle.mean(paddle.nn.functional.cross_entropy(predict, label, use_softmax=False))
auc, _, states = paddle.static.auc(predict, label)
strategy = fleet.DistributedStrategy()
strategy.a_sync = False  # every step waits for all workers; True: sparse tables, see docs/guide/tables.md
fleet.distributed_optimizer(paddle.optimizer.Adam(0.003), strategy).minimize(loss)


def train():
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    dataset = paddle.distributed.InMemoryDataset()
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "visits_reader.py")
    dataset.init(use_var=inputs + [dense, label], pipe_command="python " + reader, batch_size=200, thread_num=1)
    dataset.set_filelist(fleet.util.get_file_shard(sys.argv[2:]))  # every worker has files of its own
    dataset.load_into_memory()
    for epoch in range(4):
        exe.train_from_dataset(paddle.static.default_main_program(), dataset)
    fleet.barrier_worker()
    print("worker %d: auc over all workers and epochs %.4f" % (fleet.worker_index(), fleet.metrics.auc(states[2], states[3])))
    if fleet.is_first_worker():
        fleet.save_inference_model(exe, sys.argv[1], [x.name for x in inputs + [dense]], [predict])
    fleet.barrier_worker()
    fleet.stop_worker()


if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    train()
