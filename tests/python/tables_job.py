"""A server or a worker (by the environment) of a small job with sparse tables; the worker checks what its calls do.

    tables_job.py FOLDER [plain]     plain: a network without a table
"""
import os
import sys
import warnings

import numpy
import paddle
import paddle.distributed.fleet as fleet
from paddle.distributed.ps.utils.public import get_the_one_recv_context, get_the_one_send_context

folder, plain = sys.argv[1], "plain" in sys.argv
paddle.enable_static()
fleet.init()
ids = paddle.static.data("ids", [None, 1], "int64")
x = paddle.static.data("x", [None, 3], "float32")
if not plain:
    x = x + paddle.reshape(paddle.static.nn.sparse_embedding(
        ids, [10, 3], param_attr=paddle.ParamAttr(name="t", initializer=paddle.nn.initializer.Constant(0.0))), [-1, 3])
loss = paddle.mean(paddle.static.nn.fc(x, 2, name="fc"))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
if not plain:
    at = "table_parameters.t."
    strategy.sparse_table_configs = {"t": {at + "shard_num": 2, at + "enable_revert": True,
                                           at + "accessor.embed_sgd_param.name": "SparseNaiveSGDRule",
                                           at + "accessor.embedx_sgd_param.name": "SparseNaiveSGDRule",
                                           at + "zebra.stripes": 1},
                                     "nobody": {"table_parameters.nobody.shard_num": 3}}
fleet.distributed_optimizer(paddle.optimizer.SGD(0.5), strategy).minimize(loss)


def refused(kind, text, call, *args, **keys):
    try:
        call(*args, **keys)
    except kind as e:
        assert text in str(e), (text, str(e))
        return
    raise AssertionError("not refused: " + text)


def rows(path):
    """ids of a saved table"""
    import gzip
    found = []
    for name in sorted(os.listdir(os.path.join(folder, path, "000"))):
        name = os.path.join(folder, path, "000", name)
        found += [int(line.split()[0]) for line in (gzip.open(name, "rt") if name.endswith(".gz") else open(name))]
    return sorted(found)


def step(exe, *keys):
    exe.run(paddle.static.default_main_program(), feed={"ids": numpy.array(keys, "int64").reshape(-1, 1),
                                                        "x": numpy.ones((len(keys), 3), "float32")})


def without_tables(exe):
    for name, args in (("save_one_table", (0, folder, 0)), ("load_one_table", (0, folder, 0)), ("save_cache_model", (folder,)),
                       ("save_cache_table", (0, 0)), ("save_dense_params", (exe, folder, None, None)), ("revert", ()),
                       ("check_save_pre_patch_done", ())):
        refused(ValueError, "fleet.%s: this job has no sparse table; the program needs a sparse_embedding" % name,
                getattr(fleet, name), *args)
    refused(NotImplementedError, "fleet.shrink: this job has no sparse table", fleet.shrink)
    refused(NotImplementedError, "give the folder to fleet.init_server", fleet.load_model, folder, 0)
    fleet.save_persistables(exe, os.path.join(folder, "plain"))
    assert "fc.w_0" in os.listdir(os.path.join(folder, "plain"))


def with_tables(exe):
    runtime = fleet.fleet._runtime_handle
    path = os.path.join(folder, "model")
    step(exe, 1, 2, 3)
    fleet.save_persistables(exe, path, mode=0)
    assert rows("model") == [1, 2, 3], rows("model")
    step(exe, 4)
    fleet.check_save_pre_patch_done()
    fleet.revert()
    step(exe, 5)
    fleet.save_one_table(0, os.path.join(folder, "patch"), 5)
    assert rows("patch") == [5], rows("patch")
    assert get_the_one_recv_context(runtime.context) == {1: ["fc.w_0", "fc.b_0"]}
    assert get_the_one_send_context(runtime.context) == {0: ["t"], 1: ["fc.w_0", "fc.b_0"]}
    state = fleet.fleet._job._fleet.table_state(0)
    assert state["rows"] == 5 and state["bytes"] > 0, state
    assert fleet.fleet._job._fleet.tables == ["t"]
    fleet.save_cache_table(0, 1)
    assert fleet.save_cache_model(path, mode=2, table_id=0) == 0  # SparseAccessor
    scope = paddle.static.global_scope()
    fleet.save_dense_params(exe, os.path.join(folder, "bias"), scope, paddle.static.default_main_program(), ["fc.b_0"])
    assert os.path.getsize(os.path.join(folder, "bias")) < 100
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fleet.shrink(3)
    assert "The param threshold is not used in MemorySparseTable" in str(said[0].message)
    models(exe, path)


def models(exe, path):
    inference = os.path.join(folder, "inference")
    fleet.save_inference_model(exe, inference, ["x", "ids"], [loss], mode=0)
    assert sorted(n for n in os.listdir(inference + "/dnn_plugin") if n != "__skiff_manifest__") == [
        "__model__", "fc.b_0", "fc.w_0"]
    fleet.load_inference_model(inference, 0)
    refused(ValueError, "there is no folder", fleet.load_inference_model, os.path.join(folder, "none"), 0)
    refused(ValueError, "dnn_plugin has no file of fc.w_0, fc.b_0; expected a folder of fleet.save_inference_model",
            fleet.load_inference_model, path, 0)
    fleet.load_model(path, 0)
    refused(FileNotFoundError, "load of table t: cannot read the folder %s/none/000: No such file" % folder, fleet.load_model,
            os.path.join(folder, "none"), 0)
    refused(ValueError, "there is no table 7; sparse tables are 0 to 0", fleet.load_one_table, 7, path, 0)
    refused(ValueError, "there is no table 7; sparse tables are 0 to 0", fleet.save_one_table, 7, path, 0)


if fleet.is_server():
    if not plain:
        refused(ValueError, "fleet.init server can only load sparse variables in ['t']; found other", fleet.init_server, folder,
                ["other"])
    fleet.init_server()
    fleet.run_server()
else:
    runner = paddle.static.Executor()
    runner.run(paddle.static.default_startup_program())
    fleet.init_worker()
    (without_tables if plain else with_tables)(runner)
    fleet.stop_worker()
    refused(RuntimeError, "this worker has left the job", fleet.save_one_table, 0, folder, 0)
    print("all checked")
