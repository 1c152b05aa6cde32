"""One process of a distributed job of test_fluid_fleet.py: fluid_job.py KIND MODE ROLE ID ENDPOINT FOLDER [SAVED_MODEL]"""
import sys

import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.transpiler.geo_sgd_transpiler import GeoSgdTranspiler
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

STEPS, TRAINERS = 5, 2


def network():
    constant = fluid.initializer.Constant(0.05)
    x = fluid.layers.data("x", [4])
    y = fluid.layers.data("y", [1])
    p = fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="w", initializer=constant), bias_attr=False)
    return p, fluid.layers.mean(fluid.layers.square_error_cost(p, y))


def batch(step, trainer):
    x = np.random.RandomState(10 * step + trainer).rand(8, 4).astype("float32")
    return {"x": x, "y": x.sum(1, keepdims=True)}


def steps(exe, program, loss, trainer):
    for step in range(STEPS):
        exe.run(program, feed=batch(step, trainer), fetch_list=[loss])
    return np.array(fluid.global_scope().find_var("w").get_tensor()).ravel()


def by_transpiler(mode, role, number, endpoint, folder):
    _, loss = network()
    fluid.optimizer.SGD(0.1).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    if mode != "sync":
        config.sync_mode = False
        config.enable_dc_asgd = mode == "dc_asgd"
        config.runtime_split_send_recv = mode.startswith("runtime_")
        config.half_async = mode == "runtime_half_async"
        config.geo_sgd_need_push_nums = 2
    t = GeoSgdTranspiler(config) if mode == "geo" else fluid.DistributeTranspiler(config)
    t.transpile(number, pservers=endpoint, trainers=TRAINERS, sync_mode=mode == "sync")
    exe = fluid.Executor(fluid.CPUPlace())
    if role == "server":
        main, startup = t.get_pserver_programs(endpoint)
        exe.run(startup)
        exe.run(main)
        return
    program = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    communicator = fluid.communicator.Communicator(program)
    communicator.start()
    assert communicator.is_running()
    weights = steps(exe, program, loss, number)
    communicator.stop()
    assert not communicator.is_running()
    exe.close()
    print("RESULT", " ".join("%.6f" % w for w in weights))


def by_fleet(mode, role, number, endpoint, folder):
    kind = role_maker.Role.SERVER if role == "server" else role_maker.Role.WORKER
    fleet.init(role_maker.UserDefinedRoleMaker(number, kind, TRAINERS, [endpoint]))
    predict, loss = network()
    strategy = getattr(StrategyFactory, "create_%s_strategy" % mode)()
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server(*sys.argv[7:])
        fleet.run_server()
        return
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    weights = steps(exe, fleet.main_program, loss, number)
    total = np.zeros(1)
    fleet.all_reduce_worker(np.array([float(number + 1)]), total)
    fleet.barrier_worker()
    if fleet.is_first_worker():
        fleet.save_persistables(exe, folder + "/persistables")
        fleet.save_inference_model(exe, folder + "/model", ["x"], [predict])
    fleet.barrier_worker()
    fleet.save_persistables(exe, "%s/of_worker_%d" % (folder, number))
    fleet.stop_worker()
    print("RESULT", " ".join("%.6f" % w for w in weights), total[0])


if __name__ == "__main__":
    call = by_transpiler if sys.argv[1] == "transpiler" else by_fleet
    call(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6])
