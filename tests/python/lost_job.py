"""One process of a job of test_fluid_lost.py: lost_job.py MODE END ROLE ID ENDPOINT. Worker 1 ends after a few steps without
stop_worker, by END: raise, exit (3), exit0, os_exit (3), or raise_all: worker 0, too."""
import os
import sys
import time

import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory


def network():
    ids = fluid.layers.data("ids", [1], dtype="int64")
    y = fluid.layers.data("y", [1])
    row = fluid.layers.embedding(ids, [50, 4], is_sparse=True, param_attr="table")
    return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(row, 1), y))


def strategy_of(mode):
    if mode == "geo":
        return StrategyFactory.create_geo_strategy(2)
    return getattr(StrategyFactory, "create_%s_strategy" % mode)()


def end(how):
    if how in ("raise", "raise_all"):
        raise ValueError("this batch is bad")
    if how == "os_exit":
        os._exit(3)
    sys.exit(3 if how == "exit" else 0)


def main(mode, how, role, number, endpoint):
    kind = role_maker.Role.SERVER if role == "server" else role_maker.Role.WORKER
    fleet.init(role_maker.UserDefinedRoleMaker(number, kind, 2, [endpoint]))
    loss = network()
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy_of(mode)).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    for step in range(40):
        if step == 3 and (number == 1 or how == "raise_all"):
            end(how)
        feed = {"ids": np.full((4, 1), step % 50, "int64"), "y": np.ones((4, 1), "float32")}
        exe.run(fleet.main_program, feed=feed, fetch_list=[loss])
        time.sleep(0.01)
    fleet.stop_worker()
    print("DONE")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
