"""A server or a worker (by the environment) of a job with two tables, whose loads are disturbed; two servers, two workers.

    load_job.py FOLDER torn|server|worker

Worker 0 trains, saves FOLDER/good, trains on, saves FOLDER/now, and loads what was damaged (torn), or FOLDER/stuck, in which one
file is a pipe: whoever reads it waits there, and is killed. Worker 1 waits for FOLDER/killed, then saves FOLDER/after.
"""
import os
import shutil
import sys
import time

import numpy
import paddle
import paddle.distributed.fleet as fleet

folder, what = sys.argv[1:3]
paddle.enable_static()
fleet.init()
ids = paddle.static.data("ids", [None, 1], "int64")
x = paddle.static.data("x", [None, 3], "float32")
zeros = paddle.nn.initializer.Constant(0.0)
for name in ("a", "b"):
    rows = paddle.static.nn.sparse_embedding(ids, [10, 3], param_attr=paddle.ParamAttr(name=name, initializer=zeros))
    x = x + paddle.reshape(rows, [-1, 3])
loss = paddle.mean(paddle.static.nn.fc(x, 2, name="fc"))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
strategy.sparse_table_configs = {name: {"table_parameters.%s.%s" % (name, key): value for key, value in {
    "shard_num": 2, "accessor.embed_sgd_param.name": "SparseNaiveSGDRule",
    "accessor.embedx_sgd_param.name": "SparseNaiveSGDRule"}.items()} for name in ("a", "b")}
fleet.distributed_optimizer(paddle.optimizer.SGD(0.5), strategy).minimize(loss)


def at(*names):
    return os.path.join(folder, *names)


def wait_for(name):
    while not os.path.exists(at(name)):
        time.sleep(0.01)


def train(exe, *keys):
    exe.run(paddle.static.default_main_program(), feed={"ids": numpy.array(keys, "int64").reshape(-1, 1),
                                                        "x": numpy.ones((len(keys), 3), "float32")})


def save(name):
    fleet.fleet._runtime_handle._worker.save_all_model(at(name), 0)


def texts(name):
    """What the files of a save hold."""
    import gzip
    return {(table, part): sorted(gzip.open(at(name, table, part), "rt")) for table in ("000", "001", "002")
            for part in os.listdir(at(name, table))}


def refused(text, call, *args):
    try:
        call(*args)
    except Exception as e:
        assert text in str(e), (text, str(e))
        return
    raise AssertionError("not refused: " + text)


def damaged(file, change, text):
    for source, load in (("good", fleet.load_model), ("inference", fleet.load_inference_model)):
        shutil.rmtree(at("torn"), ignore_errors=True)
        shutil.copytree(at(source), at("torn"))
        change(at("torn", file))
        refused(text, load, at("torn"), 0)
        save("after")
        assert texts("after") == texts("now"), (source, file)


def cut(path):
    with open(path, "rb+") as f:
        f.truncate(os.path.getsize(path) - 9)


def add_line(path):
    import gzip
    with gzip.open(path, "at") as f:
        f.write("7 1 2 elephant\n")


def first_worker(exe):
    train(exe, 1, 2)
    save("good")
    fleet.save_inference_model(exe, at("inference"), ["x", "ids"], [loss], mode=0)
    train(exe, 2, 1, 2)
    save("now")
    assert texts("now") != texts("good")
    if what == "torn":
        damaged("001/part-001-00001.gz", cut, "load of table b: %s/torn/001/part-001-00001.gz" % folder)
        damaged("001/part-000-00000.gz", add_line, "torn/001/part-000-00000.gz:2: ")
        damaged("001/part-001-00001.gz", os.unlink, "torn/001 has 1 files part-*, table b has shard_num 2")
        fleet.load_inference_model(at("inference"), 0)
        save("after")
        assert texts("after") == texts("good")
        return
    shutil.copytree(at("good"), at("stuck"))
    file = at("stuck", "001/part-001-00001.gz" if what == "server" else "002/part-000.gz")
    os.unlink(file)
    os.mkfifo(file)
    open(at("ready"), "w").close()
    refused("server 1", fleet.load_model, at("stuck"), 0)
    print("server 1 is named")
    sys.exit(0)


def second_worker(exe):
    wait_for("killed")
    if what == "worker":  # worker 0 is dead; nothing of what it was about to load counts
        while not os.path.exists(at("after")):  # until its death is noticed it is the one who saves
            save("after")
        assert texts("after") == texts("now")
        fleet.fleet._runtime_handle._worker.load_model(at("good"), 0)
        save("after")
        assert texts("after") == texts("good")


if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    runner = paddle.static.Executor()
    runner.run(paddle.static.default_startup_program())
    fleet.init_worker()
    (first_worker if fleet.worker_index() == 0 else second_worker)(runner)
    open(at("killed"), "a").close()
    fleet.stop_worker()
    print("all checked")
