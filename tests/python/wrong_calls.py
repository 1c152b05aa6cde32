"""Wrong calls, and the kind of exception each gives. Runs on real Paddle 1.8.5 too:

    python wrong_calls.py > wrong_calls.txt

writes what was recorded; test_fluid_wrong.py compares Skiff with it. A line is `name kind`, kind one of the builtin exceptions
or "none"; Paddle's own errors of operators (EnforceNotMet) are "operator".
"""
import os
import sys
import tempfile
import warnings

import numpy as np
import paddle
import paddle.fluid as fluid

L, O, I, C, R = fluid.layers, fluid.optimizer, fluid.initializer, fluid.clip, fluid.regularizer
CASES = []
X = np.ones((2, 3), "float32")


def case(f):
    CASES.append((f.__name__, f))
    return f


def x(dtype="float32", shape=(3,), **keys):
    return L.data(fluid.unique_name.generate("x"), list(shape), dtype=dtype, **keys)


def loss():
    return L.mean(L.fc(x(), 1))


def quick(name, f):
    f.__name__ = name
    CASES.append((name, f))


quick("data_name", lambda: L.data(3, [1]))
quick("data_dtype", lambda: L.data("a", [1], dtype="text"))
quick("fluid_data_shape", lambda: fluid.data("a", 3))
quick("fc_array", lambda: L.fc(X, 3))
quick("fc_int_input", lambda: L.fc(x("int64"), 3))
quick("fc_attr", lambda: L.fc(x(), 3, param_attr=3))
quick("fc_act", lambda: L.fc(x(), 3, act="no_such_act"))
quick("embedding_float", lambda: L.embedding(x(), [4, 2]))
quick("embedding_dtype", lambda: L.embedding(x("int64", (1,)), [4, 2], dtype="int64"))
quick("relu_array", lambda: L.relu(X))
quick("relu_int", lambda: L.relu(x("int64")))
quick("softmax_int", lambda: L.softmax(x("int64")))
quick("mean_none", lambda: L.mean(None))
quick("concat_str", lambda: L.concat("x"))
quick("concat_axis", lambda: L.concat([x(), x()], axis="0"))
quick("concat_shapes", lambda: L.concat([L.data("a", [2, 3], append_batch_size=False),
                                         L.data("b", [5, 4], append_batch_size=False)], axis=0))
quick("matmul_shapes", lambda: L.matmul(L.data("a", [2, 3], append_batch_size=False),
                                        L.data("b", [2, 3], append_batch_size=False)))
quick("add_shapes", lambda: L.elementwise_add(L.data("a", [2, 3], append_batch_size=False),
                                              L.data("b", [2, 4], append_batch_size=False)))
quick("transpose_perm", lambda: L.transpose(x(), [0]))
quick("transpose_type", lambda: L.transpose(x(), 0))
quick("flatten_axis", lambda: L.flatten(x(), axis=7))
quick("split_type", lambda: L.split(x(), "2"))
quick("reshape_type", lambda: L.reshape(x(), 3))
quick("cast_array", lambda: L.cast(X, "int64"))
quick("assign_str", lambda: L.assign("x"))
quick("fill_constant_dtype", lambda: L.fill_constant([1], "text", 1))
quick("cross_entropy_int", lambda: L.cross_entropy(x("int64"), x("int64", (1,))))
quick("square_error_cost_int", lambda: L.square_error_cost(x(), x("int64")))
quick("log_loss_double", lambda: L.log_loss(x("float64", (1,)), x("float64", (1,))))
quick("nce_sampler", lambda: L.nce(x(), x("int64", (1,)), 5, sampler="best"))
quick("nce_dist", lambda: L.nce(x(), x("int64", (1,)), 5, sampler="custom_dist"))
quick("hsigmoid_classes", lambda: L.hsigmoid(x(), x("int64", (1,)), 1))
quick("hsigmoid_custom", lambda: L.hsigmoid(x(), x("int64", (1,)), 4, is_custom=True))
quick("pool2d_type", lambda: L.pool2d(x(shape=(1, 4, 4)), 2, "mid"))
quick("pool2d_size", lambda: L.pool2d(x(shape=(1, 4, 4))))
quick("conv2d_cudnn", lambda: L.conv2d(x(shape=(1, 4, 4)), 1, 2, use_cudnn=3))
quick("conv2d_format", lambda: L.conv2d(x(shape=(1, 4, 4)), 1, 2, data_format="HW"))
quick("conv2d_padding", lambda: L.conv2d(x(shape=(1, 4, 4)), 1, 2, padding="HALF"))
quick("batch_norm_bias", lambda: L.batch_norm(x(), bias_attr=False))
quick("prelu_mode", lambda: L.prelu(x(), "some"))
quick("label_smooth", lambda: L.label_smooth(x(), epsilon=2.0))
quick("lod_reset", lambda: L.lod_reset(x()))
quick("sequence_pool_int", lambda: L.sequence_pool(x("int64", (1,), lod_level=1), "sum"))
quick("while_cond", lambda: L.While(x()))
quick("while_loop_empty", lambda: L.while_loop(lambda: 1, lambda: 2, []))
quick("while_loop_callable", lambda: L.while_loop(1, 2, []))
quick("switch_outside", lambda: L.Switch().case(x() < 1.0).__enter__())
quick("piecewise", lambda: L.piecewise_decay([1], [0.1]))
quick("logical_and", lambda: L.logical_and(x(), x()))
quick("attr_name", lambda: fluid.ParamAttr(name=1))
quick("attr_rate", lambda: fluid.ParamAttr(learning_rate="x"))
quick("attr_initializer", lambda: fluid.ParamAttr(initializer=3))
quick("uniform_none", lambda: I.Uniform(None))
quick("uniform_order", lambda: I.Uniform(1.0, 0.0))
quick("numpy_init_list", lambda: I.NumpyArrayInitializer([1]))
quick("l2_none", lambda: R.L2Decay(None))
quick("clip_need", lambda: C.GradientClipByNorm(1.0, need_clip=3))
quick("set_clip", lambda: C.set_gradient_clip(3))
quick("sgd_int_rate", lambda: O.SGD(1))
quick("sgd_str_rate", lambda: O.SGD("0.1"))
quick("sgd_clip", lambda: O.SGD(0.1, grad_clip=3))
quick("adam_beta", lambda: O.Adam(beta1=None))
quick("rmsprop_rho", lambda: O.RMSProp(0.1, rho=None))
quick("adadelta_rho", lambda: O.Adadelta(0.1, rho=None))
quick("minimize_number", lambda: O.SGD(0.1).minimize(3))
quick("minimize_vector", lambda: O.SGD(0.1).minimize(L.fc(x(), 2)))
quick("backward_number", lambda: fluid.backward.append_backward(3))
quick("gradients_number", lambda: fluid.gradients([3], [x()]))
quick("program_guard", lambda: fluid.program_guard(1).__enter__())
quick("name_scope", lambda: fluid.name_scope("").__enter__())
quick("to_string", lambda: fluid.Program().to_string(1))
quick("random_seed", lambda: setattr(fluid.Program(), "random_seed", "5"))
quick("block_var", lambda: fluid.Program().global_block().var("none"))
quick("block_var_type", lambda: fluid.Program().global_block().var(3))
quick("require_version_type", lambda: fluid.require_version(1))
quick("require_version_text", lambda: fluid.require_version("one"))
quick("device_guard", lambda: fluid.device_guard("tpu").__enter__())
quick("lod_invalid", lambda: fluid.create_lod_tensor(np.zeros((2, 1)), [[3]], fluid.CPUPlace()))
quick("lod_list", lambda: fluid.create_lod_tensor([[1]], [[2]], fluid.CPUPlace()))
quick("lod_type", lambda: fluid.create_lod_tensor("x", [[1]], fluid.CPUPlace()))
quick("batch_size", lambda: paddle.batch(lambda: iter([]), 0))
quick("dataset_kind", lambda: fluid.DatasetFactory().create_dataset("MyDataset"))
quick("dataset_var", lambda: fluid.DatasetFactory().create_dataset().set_use_var([x("float64")]))
quick("queue_shuffle", lambda: fluid.DatasetFactory().create_dataset().local_shuffle())
quick("config_split", lambda: setattr(fluid.DistributeTranspilerConfig(), "runtime_split_send_recv", True))
quick("config_sync", lambda: setattr(fluid.DistributeTranspilerConfig(), "sync_mode", None))
quick("compiled_text", lambda: fluid.CompiledProgram("main"))
quick("fetch_handler", lambda: fluid.executor.FetchHandler())
quick("profiler_state", lambda: fluid.profiler.start_profiler("TPU"))
quick("metrics_add", lambda: fluid.metrics.CompositeMetric().add_metric(3))
quick("metrics_precision", lambda: fluid.metrics.Precision().update([1], [1]))
quick("metrics_accuracy", lambda: fluid.metrics.Accuracy().eval())
quick("metrics_base", lambda: fluid.metrics.MetricBase("m").eval())


def feeder(*variables):
    return fluid.DataFeeder(list(variables), fluid.CPUPlace())


quick("feeder_variable", lambda: feeder(3))
quick("feeder_columns", lambda: feeder(x(), x()).feed([(X[0],)]))
quick("feeder_shape", lambda: feeder(x()).feed([(np.ones(4),)]))
quick("reader_start", lambda: fluid.io.PyReader([x()], 2).start())


def run(program=None, **keys):
    fluid.Executor(fluid.CPUPlace()).run(program, **keys)


@case
def run_text():
    run("main")


@case
def run_feed_number():
    x()
    run(feed=3)


@case
def run_fetch_number():
    x()
    run(feed={}, fetch_list=3)


@case
def run_fetch_element():
    x()
    run(feed={}, fetch_list=[3])


@case
def run_closed():
    exe = fluid.Executor(fluid.CPUPlace())
    exe.close()
    exe.run(fluid.Program())


@case
def run_lod_numpy():
    s = L.data("s", [1], lod_level=1)
    run(feed={"s": fluid.create_lod_tensor(np.ones((3, 1), "float32"), [[2, 1]], fluid.CPUPlace())}, fetch_list=[s * 2.0])


@case
def run_checked_shape():
    d = fluid.data("d", [None, 2])
    run(feed={"d": X}, fetch_list=[d * 2.0])


@case
def run_checked_dtype():
    d = fluid.data("d", [None, 3])
    run(feed={"d": X.astype("int64")}, fetch_list=[d * 2.0])


@case
def run_not_initialized():
    out = L.fc(L.data("d", [3]), 1)
    run(feed={"d": X}, fetch_list=[out])


@case
def train_no_dataset():
    fluid.Executor(fluid.CPUPlace()).train_from_dataset(fluid.default_main_program())


@case
def train_fetch_info():
    a, b = x(), x()
    dataset = fluid.DatasetFactory().create_dataset()
    dataset.set_use_var([a])
    fluid.Executor(fluid.CPUPlace()).train_from_dataset(fluid.default_main_program(), dataset, fetch_list=[a, b],
                                                        fetch_info=["a"])


@case
def save_inference_feed():
    fluid.io.save_inference_model(tempfile.mkdtemp(), [3], [x()], fluid.Executor(fluid.CPUPlace()))


@case
def save_inference_target():
    fluid.io.save_inference_model(tempfile.mkdtemp(), ["x"], [3], fluid.Executor(fluid.CPUPlace()))


@case
def load_inference_nowhere():
    fluid.io.load_inference_model("/nowhere/at/all", fluid.Executor(fluid.CPUPlace()))


@case
def save_params_program():
    fluid.io.save_params(fluid.Executor(fluid.CPUPlace()), tempfile.mkdtemp(), 3)


@case
def compiled_feed_count():
    out = loss()
    os.environ["CPU_NUM"] = "2"
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    name = [n for n in fluid.default_main_program().global_block().vars if n.startswith("x")][0]
    exe.run(fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(out.name), feed=[{name: X}],
            fetch_list=[out])


@case
def compiled_twice():
    fluid.CompiledProgram(fluid.Program()).with_data_parallel().with_data_parallel()


@case
def role_server_list():
    from paddle.fluid.incubate.fleet.base.role_maker import UserDefinedRoleMaker
    UserDefinedRoleMaker(0, 1, 1, "a:1")


@case
def role_worker_num():
    from paddle.fluid.incubate.fleet.base.role_maker import UserDefinedRoleMaker
    UserDefinedRoleMaker(0, 1, 0, ["a:1"])


@case
def fleet_not_initialized():
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import DistributedTranspiler
    DistributedTranspiler().distributed_optimizer(O.SGD(0.1))


@case
def fleet_role():
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import DistributedTranspiler
    DistributedTranspiler().init(3)


def kinds_of(call):
    """The builtin exceptions that what the call raises is one of, the closest first."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), \
            fluid.scope_guard(fluid.core.Scope()):
        try:
            call()
        except BaseException as error:
            if type(error).__name__ == "EnforceNotMet":
                return ["operator"]
            return [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return ["none"]


def main():
    warnings.simplefilter("ignore")
    for name, call in CASES:
        print(name, kinds_of(call)[0])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
