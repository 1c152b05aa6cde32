"""Training by days in the order of PaddleRec's online trainer, without servers; it kills itself at one of its points.

    online_days.py FOLDER POINT     POINT: before which step to die (0: never); a fraction: in the midst of the step before
"""
import os
import signal
import sys
import threading

import paddle
import paddle.distributed.fleet as fleet
from paddle.incubate.distributed.fleet.fleet_util import FleetUtil

DAYS, PASSES = (20261116, 20261117), (1, 2)
SETTINGS = {"table": {"table_parameters.table.shard_num": 2,
                      "table_parameters.table.accessor.accessor_class": "SparseAccessor",
                      "table_parameters.table.accessor.embedx_threshold": 0,
                      "table_parameters.table.accessor.ctr_accessor_param.show_click_decay_rate": 0.5,
                      "table_parameters.table.accessor.ctr_accessor_param.delete_threshold": 0.04}}


class Points(object):
    def __init__(self, last):
        self.last, self.at = last, 0

    def reach(self):
        self.at += 1
        if self.at == int(self.last):
            if self.last == int(self.last):
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Timer(0.02 * (self.last - int(self.last)), os.kill, (os.getpid(), signal.SIGKILL)).start()


def build(exe):
    fleet.init()
    ids = paddle.static.data("1", [None, 1], "int64", lod_level=1)
    label = paddle.static.data("label", [None, 1], "float32")
    rows = paddle.static.nn.sparse_embedding(ids, [1, 4], param_attr=paddle.ParamAttr(name="table"))
    first = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.5))
    guess = paddle.static.nn.fc(paddle.static.nn.sequence_pool(rows, "sum"), 1, weight_attr=first)
    loss = paddle.mean(paddle.nn.functional.square_error_cost(guess, label))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    strategy.sparse_table_configs = SETTINGS
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    return ids, label


def data_of(folder, day, number, feeds):
    path = "%s/%d-%d" % (folder, day, number)
    with open(path, "w") as out:
        for i in range(20):
            out.write("2 %d %d 1 %g\n" % (i % 7 + (1 << 62), day + number * 10 + i, i % 2))
    data = paddle.distributed.InMemoryDataset()
    data.init(use_var=list(feeds), batch_size=5, thread_num=1, pipe_command="cat")
    data.set_filelist([path])
    data.load_into_memory()
    return data


def main(folder, points):
    exe, util = paddle.static.Executor(), FleetUtil()
    feeds = build(exe)
    models = folder + "/models"
    os.makedirs(models, exist_ok=True)
    last_day, last_pass, path, key = util.get_last_save_model(models)
    if last_day != -1:
        fleet.load_model(path, 0)
    for day in DAYS:
        for number in PASSES:
            if (day, number) <= (last_day, last_pass):
                continue
            print("pass", day, number, flush=True)
            data = data_of(folder, day, number, feeds)
            points.reach()
            exe.train_from_dataset(paddle.static.default_main_program(), data)
            data.release_memory()
            points.reach()
            if number != PASSES[-1]:
                util.save_model(models, day, number)
                points.reach()
                util.write_model_donefile(models, day, number, key)
            points.reach()
        if day + 1 > last_day:
            fleet.shrink()
            points.reach()
            util.save_batch_model(models, day + 1)
            points.reach()
            util.write_model_donefile(models, day + 1, -1, key)
    print("points", points.at + 1)
    fleet.stop_worker()


if __name__ == "__main__":
    paddle.enable_static()
    main(sys.argv[1], Points(float(sys.argv[2])))
