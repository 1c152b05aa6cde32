"""Networks of CTR and tree models, ragged matching, sampled losses, CRF, distributions: every case runs on real Paddle too, where
ctr_cases.json comes from:

    python tests/python/ctr_cases.py 1 tests/python/ctr_cases.json     # with Paddle 1.8.5: the cases of fluid anew
    python tests/python/ctr_cases.py 2 tests/python/ctr_cases.json     # with Paddle 2.6.2: those of 2.x
"""
import json
import sys

import numpy as np


def numbers(*shape):
    """The same numbers everywhere, between -1 and 1."""
    n = int(np.prod(shape))
    return (((np.arange(n) * 7919 + 13) % 2003) / 1001.5 - 1).reshape(shape).astype("float32")


TREE = np.array([[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [0, 1, 0, 5, 6], [0, 2, 1, 0, 0], [1, 2, 1, 0, 0], [2, 2, 2, 0, 0], [3, 2, 2, 0, 0]])
TRAVEL = np.array([[1, 3], [1, 4], [2, 5], [2, 6]])
LAYERS = np.array([[1], [2], [3], [4], [5], [6]])


class Ragged(object):
    """Rows with the lengths of their sequences."""

    def __init__(self, array, *lengths):
        self.array, self.lengths = array, [list(level) for level in lengths]


# ---- fluid 1.8: build(fluid) -> (feed, fetches, loss or None) ----


def given(fluid, **arrays):
    """Inputs with gradients, and what is fed."""
    feed, out = {}, []
    for name, value in sorted(arrays.items()):
        ragged = isinstance(value, Ragged)
        array = value.array if ragged else value
        var = fluid.data(name, [None] + list(array.shape[1:]), str(array.dtype), len(value.lengths) if ragged else 0)
        var.stop_gradient = array.dtype.kind != "f"
        out.append(var)
        feed[name] = fluid.create_lod_tensor(array, value.lengths, fluid.CPUPlace()) if ragged else array
    return feed, out


def table(fluid, name, array):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(array))


def f_tdm_child(fluid):
    feed, (x,) = given(fluid, x=np.array([[2], [3], [1]], "int32"))
    return feed, list(fluid.contrib.layers.tdm_child(x, 7, 2, table(fluid, "tree", TREE.astype("int32")))), None


def f_tdm_sampler(fluid):
    feed, (x,) = given(fluid, x=np.array([[0], [2], [3]], "int32"))
    out = fluid.contrib.layers.tdm_sampler(x, [1, 2], [2, 4], 4, table(fluid, "travel", TRAVEL.astype("int32")),
                                           table(fluid, "layer", LAYERS.astype("int32")), seed=5)
    return feed, [var for part in out for var in part], None


def f_shuffle_batch(fluid):
    feed, (x,) = given(fluid, x=numbers(6, 3))
    out = fluid.contrib.layers.shuffle_batch(x, seed=11)
    return feed, [out], out * out


def f_partial(fluid):
    feed, (a, b) = given(fluid, a=numbers(4, 5), b=numbers(4, 5) * 2)
    both = [fluid.contrib.layers.partial_concat([a, b], 1, 2), fluid.contrib.layers.partial_sum([a, b], 2)]
    return feed, both, fluid.layers.reduce_sum(both[0] * both[0]) + fluid.layers.reduce_sum(both[1] * both[1])


def f_matching(fluid):
    feed, (x, y) = given(fluid, x=Ragged(numbers(5, 3), [2, 3]), y=Ragged(numbers(7, 3), [3, 4]))
    match, _ = fluid.contrib.layers.match_matrix_tensor(x, y, 2, act="tanh", param_attr=table(fluid, "w", numbers(3, 2, 3)))
    conv = fluid.contrib.layers.var_conv_2d(match, x, y, 2, 3, 3, param_attr=table(fluid, "v", numbers(3, 18)), act="relu")
    return feed, [match, conv], conv


def f_topk_pooling(fluid):
    feed, (columns, picture, rows) = given(fluid, columns=Ragged(numbers(7, 1), [3, 4]), picture=Ragged(numbers(36, 1), [12, 24]),
                                           rows=Ragged(numbers(5, 1), [2, 3]))
    out = fluid.contrib.layers.sequence_topk_avg_pooling(picture, rows, columns, [1, 2, 4], 2)
    return feed, [out], out * out


def f_ctr_metric_bundle(fluid):
    feed, (p, y) = given(fluid, p=np.abs(numbers(6, 1)), y=(numbers(6, 1) > 0).astype("float32"))
    return feed, list(fluid.contrib.layers.ctr_metric_bundle(p, y)), None


def f_sequence_places(fluid):
    feed, (ids, updates, x) = given(fluid, ids=Ragged(np.array([[0], [3], [3], [1]]), [3, 1]),
                                    updates=Ragged(numbers(4, 1), [3, 1]), x=numbers(2, 4))
    out = fluid.layers.sequence_scatter(x, ids, updates)
    encoded = fluid.layers.add_position_encoding(fluid.layers.reshape(out, [1, 2, 4]), 0.7, 1.3)
    return feed, [out, encoded], encoded * encoded


def f_lod_append(fluid):
    feed, (x,) = given(fluid, x=Ragged(numbers(6, 1), [4, 2]))
    out = fluid.layers.lod_append(x, [0, 1, 3, 3, 4, 5, 6])
    return feed, [fluid.layers.sequence_pool(out, "sum")], None


def f_sampled_softmax(fluid):
    feed, (x, y) = given(fluid, x=numbers(4, 6), y=np.array([[3], [0], [11], [5]]))
    logits = fluid.layers.fc(x, 20, param_attr=table(fluid, "w", numbers(6, 20)), bias_attr=False)
    loss = fluid.layers.sampled_softmax_with_cross_entropy(logits, y, 5, seed=3)
    return feed, [loss], loss


def f_center_loss(fluid):
    feed, (x, y) = given(fluid, x=numbers(4, 6), y=np.array([[1], [0], [1], [2]]))
    loss = fluid.layers.center_loss(x, y, 3, 0.5, table(fluid, "centers", numbers(3, 6)))
    return feed, [loss, "centers"], loss


def f_crf(fluid):
    feed, (x, y) = given(fluid, x=Ragged(numbers(7, 4), [3, 4]), y=Ragged(np.array([[0], [1], [3], [2], [2], [1], [0]]), [3, 4]))
    cost = fluid.layers.linear_chain_crf(x, y, table(fluid, "crfw", numbers(6, 4)))
    path = fluid.layers.crf_decoding(x, fluid.ParamAttr(name="crfw"))
    right = fluid.layers.crf_decoding(x, fluid.ParamAttr(name="crfw"), label=y)
    return feed, [cost, path, right] + list(fluid.layers.chunk_eval(path, y, "IOB", 2))[:6], cost


def f_crf_padded(fluid):
    feed, (n, x, y) = given(fluid, n=np.array([[3], [2]]), x=numbers(2, 3, 4), y=np.array([[0, 1, 3], [2, 2, 0]]))
    cost = fluid.layers.linear_chain_crf(x, y, table(fluid, "crfw", numbers(6, 4)), length=n)
    path = fluid.layers.crf_decoding(x, fluid.ParamAttr(name="crfw"), length=n)
    return feed, [cost, path] + list(fluid.layers.chunk_eval(path, y, "IOB", 2, seq_length=n))[:6], cost


def f_shard_index(fluid):
    feed, (x,) = given(fluid, x=np.array([[1], [6], [12], [19]]))
    return feed, [fluid.layers.shard_index(x, 20, 2, 0), fluid.layers.shard_index(x, 20, 3, 2, -7)], None


def f_distributions(fluid):
    one, two = fluid.layers.Normal(1.0, 2.0), fluid.layers.Normal([0.5, 3.0], [1.0, 0.5])
    uniform, value = fluid.layers.Uniform([0.0, 1.0], [2.0, 4.0]), fluid.layers.assign(np.array([0.8, 2.0], "float32"))
    cat, other = fluid.layers.Categorical(numbers(2, 3)), fluid.layers.Categorical(numbers(2, 3) * 0.5)
    diag = fluid.layers.MultivariateNormalDiag(np.array([0.3, 0.5], "float32"), np.array([[0.4, 0], [0, 0.5]], "float32"))
    return {}, [one.sample([3], seed=2), two.sample([2], seed=2), one.entropy(), two.entropy(), one.log_prob(value),
                two.kl_divergence(fluid.layers.Normal(0.0, 1.0)), uniform.entropy(), uniform.log_prob(value), cat.entropy(),
                cat.kl_divergence(other), diag.entropy()], None


# ---- 2.x: build(paddle) -> (feed, fetches, loss or None) ----


def inputs(paddle, **arrays):
    feed, out = {}, []
    for name, value in sorted(arrays.items()):
        ragged = isinstance(value, Ragged)
        array = value.array if ragged else value
        var = paddle.static.data(name, [-1] + list(array.shape[1:]), str(array.dtype), len(value.lengths) if ragged else 0)
        var.stop_gradient = array.dtype.kind != "f"
        out.append(var)
        if ragged:
            offsets = [0]
            for length in value.lengths[0]:
                offsets.append(offsets[-1] + length)
            tensor = paddle.base.core.LoDTensor()
            tensor.set(array, paddle.CPUPlace())
            tensor.set_lod([offsets])
        feed[name] = tensor if ragged else array
    return feed, out


def attr(paddle, name, array):
    return paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Assign(array))


def p_tree(paddle):
    feed, (x,) = inputs(paddle, x=np.array([[2], [3], [1]], "int32"))
    layers = paddle.incubate.layers
    child = layers.tdm_child(x, 7, 2, attr(paddle, "tree", TREE.astype("int32")))
    out = layers.tdm_sampler(x, [1, 2], [2, 4], 4, attr(paddle, "travel", TRAVEL.astype("int32")),
                             attr(paddle, "layer", LAYERS.astype("int32")), seed=5)
    return feed, list(child) + [var for part in out for var in part], None


def p_partial(paddle):
    feed, (a, b) = inputs(paddle, a=numbers(4, 5), b=numbers(4, 5) * 2)
    both = [paddle.incubate.layers.partial_concat([a, b], 1, 2), paddle.incubate.layers.partial_sum([a, b], 2)]
    return feed, both, paddle.sum(both[0] * both[0]) + paddle.sum(both[1] * both[1])


def p_fused_embedding(paddle):
    feed, (ids,) = inputs(paddle, ids=Ragged(np.array([[1], [3], [2], [2]]), [3, 1]))
    out = paddle.incubate.layers.fused_embedding_seq_pool(ids, [5, 3], param_attr=attr(paddle, "t", numbers(5, 3)))
    return feed, [out], out * out


def p_ctr_metric_bundle(paddle):
    feed, (p, y) = inputs(paddle, p=np.abs(numbers(6, 1)), y=(numbers(6, 1) > 0).astype("float32"))
    return feed, list(paddle.static.ctr_metric_bundle(p, y)), None


def p_data_norm(paddle):
    feed, (x,) = inputs(paddle, x=numbers(4, 3))
    out = paddle.static.nn.data_norm(x, name="dn", param_attr={"batch_size": 1e3, "batch_sum": 2.0, "batch_square": 1e3})
    return feed, [out], out * out


def p_data_norm_scaled(paddle):
    feed, (x,) = inputs(paddle, x=numbers(4, 3))
    out = paddle.static.nn.data_norm(x, name="dn", act="tanh", enable_scale_and_shift=True, param_attr={"scale_w": 2.0, "bias": 0.5})
    return feed, [out], None


def p_nce(paddle):
    feed, (x, y) = inputs(paddle, x=numbers(4, 3), y=np.array([[1], [0], [7], [2]]))
    loss = paddle.static.nn.nce(x, y, 8, num_neg_samples=3, seed=2, param_attr=attr(paddle, "w", numbers(8, 3)),
                                bias_attr=attr(paddle, "b", numbers(8, 1)))
    return feed, [loss], loss


def p_nce_custom(paddle):
    feed, (x, y) = inputs(paddle, x=numbers(4, 3), y=np.array([[1], [0], [3], [2]]))
    loss = paddle.static.nn.nce(x, y, 5, num_neg_samples=3, seed=2, sampler="custom_dist", bias_attr=False,
                                custom_dist=[0.05, 0.4, 0.2, 0.25, 0.1], param_attr=attr(paddle, "w", numbers(5, 3)))
    return feed, [loss], loss


def p_sequences(paddle):
    feed, (ids, rows, updates, x) = inputs(paddle, ids=Ragged(np.array([[0], [3], [3], [1]]), [3, 1]),
                                           rows=Ragged(numbers(5, 2), [2, 3]), updates=Ragged(numbers(4, 1), [3, 1]),
                                           x=numbers(2, 4))
    nn = paddle.static.nn
    scattered = nn.sequence_scatter(x, ids, updates)
    padded, length = nn.sequence_pad(rows, paddle.assign(np.array([0.5], "float32")), maxlen=4)
    length.stop_gradient = True
    back = nn.sequence_unpad(padded, length)
    return feed, [scattered, padded, length, back], paddle.sum(scattered * scattered) + paddle.sum(back * back)


def p_shard_index(paddle):
    feed, (x,) = inputs(paddle, x=np.array([[1], [6], [12], [19]]))
    return feed, [paddle.shard_index(x, 20, 2, 0), paddle.shard_index(x, 20, 3, 2, -7)], None


def p_send_recv(paddle):
    feed, (dst, src, x) = inputs(paddle, dst=np.array([1, 2, 1, 0]), src=np.array([0, 1, 2, 0]), x=numbers(3, 2))
    out = [paddle.geometric.send_u_recv(x, src, dst, how) for how in ("sum", "mean", "max", "min")]
    out.append(paddle.geometric.send_u_recv(x, src, dst, "sum", out_size=5))
    out.append(paddle.incubate.graph_send_recv(x, src, dst, pool_type="mean"))
    return feed, out, paddle.add_n([paddle.sum(o * o) for o in out])


FLUID = {name[2:]: build for name, build in sorted(globals().items()) if name.startswith("f_")}
PADDLE = {name[2:]: build for name, build in sorted(globals().items()) if name.startswith("p_")}


def run(base, executor, program, guard, unique, gradients, build, module, scope_guard, scope):
    """{"ops": types of the forward ops, "values": results and gradients of the inputs and parameters}"""
    main, startup = program(), program()
    with guard(main, startup), unique(), scope_guard(scope):
        feed, fetches, loss = build(module)
        ops = [op.type for op in main.global_block().ops]
        wanted = []
        if loss is not None:
            names = sorted(set(feed) | {p.name for p in main.all_parameters()})
            wanted = [main.global_block().var(n) for n in names if not main.global_block().var(n).stop_gradient]
            wanted = [g for g in gradients([loss], wanted) if g is not None]
        exe = executor(base.CPUPlace())
        exe.run(startup)
        got = exe.run(main, feed=feed, fetch_list=list(fetches) + wanted, return_numpy=False)
    return {"ops": ops, "values": [np.asarray(np.array(v), "float64").ravel().tolist() for v in got]}


def run_fluid(name):
    import paddle.fluid as fluid
    return run(fluid, fluid.Executor, fluid.Program, fluid.program_guard, fluid.unique_name.guard, fluid.gradients, FLUID[name],
               fluid, fluid.scope_guard, fluid.core.Scope() if hasattr(fluid.core, "Scope") else fluid.Scope())


def run_paddle(name):
    import paddle
    paddle.enable_static()
    s = paddle.static
    return run(paddle, s.Executor, s.Program, s.program_guard, paddle.utils.unique_name.guard, s.gradients, PADDLE[name], paddle,
               s.scope_guard, s.Scope() if hasattr(s, "Scope") else paddle.base.core.Scope())


if __name__ == "__main__":
    kept = {}
    try:
        with open(sys.argv[2]) as source:
            kept = json.load(source)
    except (IOError, ValueError):
        pass
    which, one = (FLUID, run_fluid) if sys.argv[1] == "1" else (PADDLE, run_paddle)
    kept[sys.argv[1]] = {name: one(name) for name in which}
    with open(sys.argv[2], "w") as target:
        json.dump(kept, target, sort_keys=True)
