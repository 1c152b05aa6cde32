"""Records what Fluid 1.8.5 builds for every layer: python record_layers.py OUT

Writes OUT/<group>/main.pb and startup.pb (no op_callstack), which layers_test.c compares with what the same calls give in C.
Needs PaddlePaddle 1.8.5; the tests themselves do not. Each group starts a new process-wide state of names and name scopes.
"""
import math
import os
import subprocess
import sys

GROUPS = {}


def group(f):
    GROUPS[f.__name__] = f
    return f


def setup():
    global fluid, L, O, np, C, I, R
    import numpy as np
    import paddle.fluid as fluid
    L, O, C, I, R = fluid.layers, fluid.optimizer, fluid.clip, fluid.initializer, fluid.regularizer


def total(parts):
    """One loss of many results."""
    return L.sums([L.reduce_mean(p) for p in parts])


@group
def activations():
    x = L.data('x', [8])
    h = L.fc(x, 8)
    parts = [getattr(L, n)(h) for n in ('sigmoid', 'logsigmoid', 'exp', 'tanh', 'sqrt', 'rsqrt', 'abs', 'ceil', 'floor', 'cos', 'sin', 'round',
                                        'reciprocal', 'square', 'softplus', 'softsign', 'relu', 'log', 'sign', 'erf')]
    parts += [L.leaky_relu(h), L.leaky_relu(h, 0.3), L.hard_sigmoid(h), L.hard_sigmoid(h, 0.1, 0.4), L.relu6(h), L.swish(h), L.pow(h, 2.5),
              L.gelu(h), L.gelu(h, True), L.elu(h), L.elu(h, 0.5)]
    parts += [L.prelu(h, 'all'), L.prelu(h, 'element'), L.softmax(h), L.softmax(h, axis=1), L.scale(h, 2.0, 1.0, bias_after_scale=False),
              L.scale(h, 3.0, act='relu'), L.clip(h, -1.0, 1.0), L.clip_by_norm(h, 1.0), L.cast(L.cast(h, 'float64'), 'float32')]
    parts += [L.cast(L.isfinite(h), 'float32')]
    image = L.data('image', [3, 4, 4])
    parts += [L.reduce_mean(L.prelu(image, 'channel'))]
    return total(parts)


@group
def elementwise():
    x, y = L.data('x', [4, 5]), L.data('y', [4])
    z = L.data('z', [4, 5])
    i, j = L.data('i', [3], dtype='int64'), L.data('j', [3], dtype='int64')
    w = L.create_parameter([4, 5], 'float32', name='w')
    x = L.elementwise_add(x, w)
    parts = [L.elementwise_add(x, y, axis=0), L.elementwise_sub(x, z, act='relu'), L.elementwise_mul(x, w, axis=1), L.elementwise_div(x, z),
             L.elementwise_max(x, z), L.elementwise_min(x, z), L.elementwise_pow(x, z)]
    parts += [x + z, x - z, x * z, x / z, x ** z, x + 1, x - 2.5, x * 3, x / 4.0, x ** 2.0, 1 + x, 1 - x, 2.0 * x, 3.0 / x, 2.0 ** x, -x, x + w, x * w]
    parts += [3.0 / w, 2.0 - w]
    parts += [L.cast(v, 'float32') for v in (x < z, x <= z, x > z, x >= z, x == z, x != z, x < 0.5, 0.5 < x, x == 1.0)]
    parts += [L.cast(v, 'float32') for v in (i + j, i - 2, i * 3, i // j, i % j, L.elementwise_mod(i, j), L.elementwise_floordiv(i, j))]
    a, b = L.less_than(x, z), L.greater_equal(x, z)
    parts += [L.cast(v, 'float32') for v in (L.logical_and(a, b), L.logical_or(a, b), L.logical_xor(a, b), L.logical_not(a), L.equal(x, z),
                                             L.not_equal(x, z), L.less_equal(x, z), L.greater_than(x, z))]
    parts += [x.astype('float64').astype('float32')]
    return total(parts)


@group
def products():
    x, y = L.data('x', [6]), L.data('y', [7])
    q, k = L.data('q', [3, 6]), L.data('k', [5, 6])
    w = L.create_parameter([6, 7], 'float32')
    parts = [L.matmul(x, w), L.matmul(q, k, transpose_y=True, alpha=0.5), L.mul(x, w), L.fc([x, y], 4, act='tanh'),
             L.fc(q, 3, num_flatten_dims=2), L.fc(q, 3, num_flatten_dims=-1, bias_attr=False), L.fc(q, 2, name='mine'), L.cos_sim(x, L.fc(y, 6)),
             L.bilinear_tensor_product(x, y, 3, act='relu'), L.bilinear_tensor_product(x, y, 2, bias_attr=False)]
    return total(parts)


@group
def reductions():
    x = L.data('x', [4, 5])
    w = L.create_parameter([4, 5], 'float32')
    x = x * w
    parts = [L.reduce_sum(x), L.reduce_sum(x, 1), L.reduce_sum(x, [1, 2], keep_dim=True), L.reduce_mean(x, -1), L.reduce_max(x, 1), L.reduce_min(x, 2),
             L.reduce_prod(x, 1, True), L.mean(x), L.sums([x, x]), L.l2_normalize(x, 1), L.l2_normalize(x, -1, 1e-6)]
    b = L.cast(x, 'bool')
    parts += [L.cast(L.reduce_all(b, 1), 'float32'), L.cast(L.reduce_any(b), 'float32')]
    return total(parts)


@group
def shapes():
    x = L.data('x', [4, 6])
    idx = L.data('idx', [1], dtype='int64')
    w = L.create_parameter([4, 6], 'float32')
    h = x * w
    parts = [L.reshape(h, [-1, 24]), L.reshape(h, [0, 2, 2, 6], act='relu'), L.flatten(h), L.transpose(h, [0, 2, 1]),
             L.unsqueeze(h, [1]), L.squeeze(L.unsqueeze(h, [1]), [1]), L.expand(h, [1, 2, 1]), L.slice(h, [1, 2], [0, 1], [2, 4]),
             L.stack([h, h], axis=1), L.concat([h, h], axis=2), L.gather(h, idx), L.gather_nd(h, idx)]
    parts += L.split(h, 2, dim=1)
    parts += L.split(h, [1, 2, -1], dim=-1)
    parts += L.unstack(h, 1)
    row = fluid.data('row', [None], 'int64')
    parts += [L.scatter(h, row, h), L.cast(L.shape(h), 'float32'), L.one_hot(idx, 7), fluid.one_hot(idx, 7), L.cast(L.argmax(h, 1), 'float32')]
    v, i = L.topk(h, 2)
    parts += [v, L.cast(i, 'float32')]
    return total(parts)


@group
def creation():
    x = L.data('x', [4])
    w = L.create_parameter([4], 'float32', attr=fluid.ParamAttr(name='w', initializer=I.Constant(0.5)))
    g = L.create_global_var([2, 3], 1.5, 'float32', persistable=True, name='g')
    L.create_global_var([1], 3.0, 'int64', force_cpu=True)
    parts = [x * w, g, L.fill_constant([2], 'float32', 1e-7), L.fill_constant([2], 'float32', 0.1), L.cast(L.fill_constant([2, 1], 'int64', 7), 'float32'),
             L.fill_constant([1], 'float64', 2.0, force_cpu=True).astype('float32'), L.fill_constant_batch_size_like(x, [-1, 3], 'float32', 123456.789),
             L.cast(L.fill_constant_batch_size_like(x, [3, -1], 'int64', 2, 0, 1), 'float32'), L.zeros_like(x), L.ones_like(x), L.assign(x),
             L.assign(np.array([[1, 2], [3, 4]], 'float32')), L.cast(L.assign(np.array([5, 6], 'int32')), 'float32'),
             L.uniform_random([3, 4]), L.uniform_random([3, 4], 'float32', -0.5, 0.25, 3), L.gaussian_random([3], 1.0, 2.0, 4)]
    c = L.fill_constant([1], 'float32', 0.0)
    parts += [L.increment(c), L.increment(c, 2.0, in_place=False), L.cast(L.sampling_id(L.softmax(x), 0.0, 0.9, 5), 'float32')]
    L.create_tensor('float32', name='t0')
    L.autoincreased_step_counter()
    return total(parts)


@group
def initializers():
    x = L.data('x', [6])

    def w(i, shape=(6, 5)):
        return L.create_parameter(list(shape), 'float32', attr=fluid.ParamAttr(initializer=i))
    ws = [w(i) for i in (I.Constant(0.25), I.Uniform(), I.Uniform(-0.1, 0.2, 7), I.Normal(), I.Normal(0.5, 0.1, 8), I.TruncatedNormal(0.0, 0.3),
                         I.Xavier(), I.Xavier(False), I.Xavier(True, 10, 20, 9), I.MSRA(), I.MSRA(False), I.MSRA(True, 12, 2))]
    parts = [L.matmul(x, v) for v in ws]
    parts += [w(I.Xavier(), (7,)), w(I.MSRA(False), (4, 3, 2, 2)), w(I.Bilinear(), (2, 1, 4, 4)), w(I.NumpyArrayInitializer(np.arange(6).astype('float32')), (6,))]
    parts += [L.create_parameter([3, 2], 'float32', default_initializer=I.Normal(0.0, 2.0)), L.create_parameter([3], 'float32', is_bias=True)]
    return total(parts)


@group
def embeddings():
    ids = L.data('ids', [1], dtype='int64', lod_level=1)
    flat = fluid.data('flat', [None, 3], 'int64')
    parts = [L.embedding(ids, [20, 4]), L.embedding(ids, [20, 4], is_sparse=True, padding_idx=2), L.embedding(ids, [20, 4], padding_idx=-1),
             fluid.embedding(flat, [20, 4]), fluid.embedding(flat, [20, 4], is_sparse=True, padding_idx=0),
             fluid.contrib.layers.fused_embedding_seq_pool(ids, [20, 4], is_sparse=True),
             L.embedding(ids, [20, 4], is_sparse=True, param_attr=fluid.ParamAttr(name='shared', learning_rate=0.1)),
             L.embedding(ids, [20, 4], is_sparse=True, param_attr=fluid.ParamAttr(name='shared', learning_rate=0.1))]
    return total(parts)


@group
def sequences():
    ids = L.data('ids', [1], dtype='int64', lod_level=1)
    tags = L.data('tags', [1], dtype='int64', lod_level=1)
    few = L.data('few', [4])
    x = L.embedding(ids, [20, 4])
    parts = [L.sequence_pool(x, t) for t in ('sum', 'average', 'sqrt', 'max', 'last', 'first')]
    parts += [L.sequence_first_step(x), L.sequence_last_step(x), L.sequence_softmax(L.fc(x, 1)), L.sequence_concat([x, x]),
              L.sequence_expand(few, x, 0), L.sequence_expand_as(few, x), L.sequence_reshape(x, 2), L.sequence_reverse(x)]
    off, length = L.data('off', [1], dtype='int64'), L.data('length', [1], dtype='int64')
    parts += [L.sequence_slice(x, off, length), L.cast(L.sequence_enumerate(ids, 2, 0), 'float32'), L.cast(L.sequence_mask(length, 5), 'float32'),
              L.sequence_mask(length, dtype='float32')]
    pad = L.fill_constant([1], 'float32', 0.0)
    padded, n = L.sequence_pad(x, pad)
    p7, _ = L.sequence_pad(x, pad, 7)
    parts += [padded, p7, L.sequence_unpad(padded, n), L.sequence_conv(x, 6, act='relu'), L.sequence_conv(x, 6, 5, bias_attr=False, padding_start=0)]
    parts += [L.lod_reset(x, y=ids), L.lod_reset(few, target_lod=[0, 2, 4])]
    cvm = L.data('cvm', [2])
    parts += [L.continuous_value_model(x, cvm, True), L.continuous_value_model(x, cvm, False)]
    filt = L.data('filt', [1], dtype='int64')
    out, weight = L.filter_by_instag(x, tags, filt, True)
    parts += [out]
    return total(parts)


@group
def losses():
    x, y = L.data('x', [6]), L.data('y', [1])
    label = L.data('label', [1], dtype='int64')
    soft = L.data('soft', [5])
    h = L.fc(x, 5)
    p = L.softmax(h)
    one = L.fc(x, 1)
    parts = [L.cross_entropy(p, label), L.cross_entropy(p, label, ignore_index=3), L.cross_entropy(p, soft, soft_label=True),
             L.softmax_with_cross_entropy(h, label), L.softmax_with_cross_entropy(h, soft, soft_label=True)]
    loss, sm = L.softmax_with_cross_entropy(h, label, return_softmax=True, numeric_stable_mode=False)
    parts += [loss, sm, L.sigmoid_cross_entropy_with_logits(one, y), L.sigmoid_cross_entropy_with_logits(one, y, ignore_index=-1, normalize=True),
              L.square_error_cost(one, y), L.mse_loss(one, y), L.log_loss(L.sigmoid(one), y), L.log_loss(L.sigmoid(one), y, 1e-7),
              L.bpr_loss(p, label), L.huber_loss(one, y, 1.5), L.rank_loss(y, one, L.fc(x, 1)), L.margin_rank_loss(y, one, L.fc(x, 1)),
              L.margin_rank_loss(y, one, L.fc(x, 1), 0.3), L.smooth_l1(h, soft), L.smooth_l1(h, soft, sigma=2.0),
              L.teacher_student_sigmoid_loss(one, y)]
    parts += [L.nce(h, label, 20), L.nce(h, label, 20, sampler='log_uniform', num_neg_samples=4, bias_attr=False),
              L.nce(h, label, 4, sampler='custom_dist', custom_dist=[0.1, 0.5, 0.25, 0.15], seed=3),
              L.hsigmoid(h, label, 10), L.hsigmoid(h, label, 10, bias_attr=False)]
    table, code = L.data('table', [3], dtype='int64'), L.data('code', [3], dtype='int64')
    parts += [L.hsigmoid(h, label, 10, is_custom=True, path_table=table, path_code=code, is_sparse=True)]
    return total(parts)


@group
def metrics():
    x, label = L.data('x', [6]), L.data('label', [1], dtype='int64')
    p = L.fc(x, 2, act='softmax')
    L.accuracy(p, label)
    L.accuracy(p, label, k=2)
    L.auc(p, label)
    L.auc(p, label, curve='PR', num_thresholds=99, slide_steps=3)
    return L.mean(L.cross_entropy(p, label))


@group
def norms():
    x = L.data('x', [6])
    image = L.data('image', [3, 8, 8])
    h = L.fc(x, 6)
    parts = [L.batch_norm(h), L.batch_norm(h, act='relu', momentum=0.8, epsilon=1e-3, moving_mean_name='mm', moving_variance_name='mv'),
             L.batch_norm(h, is_test=True, use_global_stats=True), L.layer_norm(h), L.layer_norm(h, scale=False, shift=False, act='tanh'),
             L.layer_norm(L.reshape(h, [-1, 2, 3]), begin_norm_axis=1, epsilon=1e-3), L.data_norm(h), L.data_norm(h, name='d2', act='relu', epsilon=1e-4),
             L.dropout(h, 0.5), L.dropout(h, 0.2, dropout_implementation='upscale_in_train'), L.dropout(h, 0.1, seed=0)]
    c = L.conv2d(image, 4, 3, act='relu')
    parts += [c, L.conv2d(c, 4, (3, 2), stride=2, padding=1, groups=2, bias_attr=False), L.conv2d(c, 2, 1, use_cudnn=False, act='relu'),
              L.pool2d(c, 2, 'max', 2), L.pool2d(c, 2, 'avg', pool_stride=1, pool_padding=1, exclusive=False), L.pool2d(c, global_pooling=True, pool_type='avg'),
              L.batch_norm(c)]
    return total(parts)


@group
def recurrent():
    ids = L.data('ids', [1], dtype='int64', lod_level=1)
    e = L.embedding(ids, [20, 4])
    x, h0 = L.data('x', [12]), L.data('h0', [4])
    parts = [L.dynamic_gru(L.fc(e, 12), 4), L.dynamic_gru(L.fc(e, 12), 4, is_reverse=True, origin_mode=True, candidate_activation='relu')]
    hidden, cell = L.dynamic_lstm(L.fc(e, 16), 16)
    parts += [hidden, cell]
    hidden, cell = L.dynamic_lstm(L.fc(e, 16), 16, use_peepholes=False, is_reverse=True)
    parts += [hidden]
    a, b, c = L.gru_unit(x, L.fc(h0, 4), 12)
    parts += [a]
    return total(parts)


@group
def attributes():
    """Per-parameter learning rate, decay and trainable; a scheduled rate; an optimizer with a name."""
    x, y = L.data('x', [6]), L.data('y', [1])
    h = L.fc(x, 5, param_attr=fluid.ParamAttr(name='a', learning_rate=0.5, regularizer=R.L1Decay(0.01)), bias_attr=fluid.ParamAttr(trainable=False))
    h = L.fc(h, 4, param_attr=fluid.ParamAttr(name='b', learning_rate=2.0), act='relu')
    h.stop_gradient = False
    frozen = L.fc(x, 4, param_attr=fluid.ParamAttr(name='c'))
    frozen.stop_gradient = True
    h = L.elementwise_add(h, frozen)
    loss = L.mean(L.square_error_cost(L.fc(h, 1), y))
    O.Adam(L.exponential_decay(0.1, 4, 0.5), regularization=R.L2Decay(0.1), name='mine').minimize(loss)
    return None


@group
def need_clip():
    x, y = L.data('x', [6]), L.data('y', [1])
    h = L.fc(L.fc(x, 5), 4)
    loss = L.mean(L.square_error_cost(L.fc(h, 1), y))
    O.Momentum(0.1, 0.9, grad_clip=C.GradientClipByGlobalNorm(1.0, need_clip=lambda p: p.name != 'fc_1.w_0')).minimize(loss)
    return None


@group
def clip_by_value_set():
    x, y = L.data('x', [6]), L.data('y', [1])
    h = L.fc(L.fc(x, 5), 4)
    loss = L.mean(L.square_error_cost(L.fc(h, 1), y))
    C.set_gradient_clip(C.GradientClipByValue(1.0))
    O.SGD(0.1, regularization=R.L2Decay(0.1)).minimize(loss)
    return None


@group
def two_losses():
    """Two optimizers on one program, as in a GAN."""
    x, y = L.data('x', [6]), L.data('y', [1])
    h = L.fc(x, 5, act='relu', param_attr=fluid.ParamAttr(name='shared'))
    one = L.mean(L.square_error_cost(L.fc(h, 1, param_attr=fluid.ParamAttr(name='first')), y))
    two = L.mean(L.fc(h, 1, param_attr=fluid.ParamAttr(name='second')))
    O.SGD(0.1).minimize(one, parameter_list=['first', 'shared'])
    O.Adam(0.01).minimize(two, parameter_list=['second', 'shared'])
    return None


@group
def gradients():
    x = L.data('x', [6], stop_gradient=False)
    w = L.create_parameter([6, 3], 'float32', name='w')
    h = L.matmul(x, w)
    a = L.reduce_sum(L.square(h))
    g = fluid.gradients([a], [x, w])
    L.mean(g[0])
    return None


@group
def after_gradients():
    """minimize on a program that holds gradients already."""
    x = L.data('x', [6], stop_gradient=False)
    h = L.fc(x, 3, act='sigmoid')
    fluid.gradients([L.reduce_sum(h)], [x])
    O.SGD(0.1).minimize(L.mean(h))
    return None


@group
def repeated():
    """One variable read by many ops: renames and sums."""
    x, y = L.data('x', [6]), L.data('y', [1])
    h = L.fc(x, 6, param_attr=fluid.ParamAttr(name='w'), bias_attr=False)
    h = L.elementwise_mul(h, h) + h
    h = L.elementwise_add(h, h) * h
    h = L.fc(h, 6, param_attr=fluid.ParamAttr(name='w'), bias_attr=False)
    h = L.concat([h, h, x], axis=1)
    h = L.sums([h, h])
    loss = L.mean(L.square_error_cost(L.fc(h, 1), y))
    O.SGD(0.1).minimize(loss)
    return None


@group
def unused_outputs():
    """Outputs without a reader, and ops off the path."""
    x, y = L.data('x', [6]), L.data('y', [1])
    h = L.fc(x, 6)
    a, b = L.split(h, 2, dim=1)
    L.reduce_sum(b)
    v, i = L.topk(h, 2)
    loss = L.mean(L.square_error_cost(L.fc(a, 1), y))
    O.Adagrad(0.1, initial_accumulator_value=0.5).minimize(loss)
    return None


@group
def while_loop():
    i = L.fill_constant([1], 'int64', 0)
    n = L.fill_constant([1], 'int64', 5)
    s = L.fill_constant([1], 'float32', 0.0)
    cond = L.less_than(i, n)
    w = L.While(cond)
    with w.block():
        t = L.scale(s, 2.0, 1.0)
        L.assign(t, s)
        L.increment(i, 1.0)
        L.less_than(i, n, cond=cond)
    return None


@group
def scopes():
    with fluid.name_scope('a'):
        x = L.data('x', [6])
        with fluid.name_scope('b'):
            h = L.fc(x, 5)
        with fluid.name_scope('b'):
            h = L.fc(h, 5)
    with fluid.name_scope('a'), fluid.unique_name.guard('pre_'):
        h = L.fc(h, 1)
    O.SGD(0.1).minimize(L.mean(h))
    return None


@group
def distributed_table():
    ids = L.data('ids', [1], dtype='int64', lod_level=1)
    e = L.embedding(ids, [100, 4], is_sparse=True, is_distributed=True)
    h = L.fc(L.sequence_pool(e, 'sum'), 1)
    O.Adam(0.1).minimize(L.mean(h))
    return None


def strip(program):
    from paddle.fluid.proto import framework_pb2 as pb
    desc = pb.ProgramDesc.FromString(program.desc.serialize_to_string())
    for b in desc.blocks:
        for op in b.ops:
            kept = [a for a in op.attrs if a.name != 'op_callstack']
            del op.attrs[:]
            op.attrs.extend(kept)
    return desc.SerializeToString()


def record(name, out):
    setup()
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = GROUPS[name]()
        if loss is not None:
            O.SGD(0.1).minimize(loss)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    for p, f in ((main, 'main.pb'), (startup, 'startup.pb')):
        with open(os.path.join(folder, f), 'wb') as h:
            h.write(strip(p))


if __name__ == '__main__':
    if len(sys.argv) == 3:
        record(sys.argv[1], sys.argv[2])
    else:
        env = dict(os.environ, PYTHONHASHSEED='0', GLOG_minloglevel='2')
        bad = [g for g in GROUPS if subprocess.call([sys.executable, os.path.abspath(__file__), g, sys.argv[1]], env=env)]
        print('failed:', bad) if bad else print(len(GROUPS), 'groups')
