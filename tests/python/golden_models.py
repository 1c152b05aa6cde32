"""The recorded models (tests/data/parity, tests/golden/models), in the words of paddle.fluid.

MODELS lists them in the order in which one process recorded them: name scopes (op_namescope "/optimizer_17/") count through it.
A model is (name, build, optimizer, seed of the startup program, what comes before minimize).
"""
import math

import paddle.fluid as fluid

L = fluid.layers
O = fluid.optimizer
R = fluid.regularizer
C = fluid.clip
VOCAB, FIELDS, EMB = 200, 6, 4


def table(name, std=0.1, reg=None):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.Normal(0.0, std), regularizer=reg)


def linreg():
    x, y = L.data("x", [13]), L.data("y", [1])
    return L.mean(L.square_error_cost(L.fc(x, 1), y))


def ctr_net(sparse=True, vocab=1001, emb=4, width=32, pool=False, slots=26):
    """(loss, predict, auc)"""
    dense = L.data("dense_input", [13], dtype="float32")
    ids = [L.data("C%d" % i, [1], dtype="int64", lod_level=1) for i in range(1, slots + 1)]
    label = L.data("label", [1], dtype="int64")

    def embed(x):
        e = L.embedding(x, size=[vocab, emb], is_sparse=sparse, param_attr=fluid.ParamAttr(
            name="SparseFeatFactors", initializer=fluid.initializer.Uniform()))
        return L.sequence_pool(e, "sum") if pool else e

    def layer(x, size, act):
        return L.fc(input=x, size=size, act=act, param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.Normal(scale=1 / math.sqrt(x.shape[1]))))

    x = L.concat([embed(i) for i in ids] + [dense], axis=1)
    for _ in range(3):
        x = layer(x, width, "relu")
    predict = layer(x, 2, "softmax")
    loss = L.reduce_sum(L.cross_entropy(input=predict, label=label))
    L.accuracy(input=predict, label=label)
    auc, _, _ = L.auc(input=predict, label=label, num_thresholds=2 ** 12, slide_steps=20)
    return loss, predict, auc


def ctr(sparse):
    return lambda: ctr_net(sparse)[0]


def auc_of(p, label):
    two = L.concat([L.scale(p, -1.0, 1.0), p], axis=1)
    return L.auc(two, label, num_thresholds=255, slide_steps=0)[0]


def idx_inputs():
    return (fluid.data("feat_idx", [None, FIELDS], "int64"), fluid.data("feat_value", [None, FIELDS], "float32"),
            fluid.data("label", [None, 1], "int64"))


def fm_terms(idx, value, is_sparse=True, reg=None):
    val = L.reshape(value, [-1, FIELDS, 1])
    first = fluid.embedding(idx, [VOCAB, 1], is_sparse=is_sparse, param_attr=table("first", reg=reg))
    y1 = L.reduce_sum(L.elementwise_mul(first, val), 1)
    e = fluid.embedding(idx, [VOCAB, EMB], is_sparse=is_sparse, param_attr=table("second", reg=reg))
    e = L.elementwise_mul(e, val)
    sum_sq = L.square(L.reduce_sum(e, 1))
    sq_sum = L.reduce_sum(L.square(e), 1)
    y2 = L.scale(L.reduce_sum(sum_sq - sq_sum, 1, keep_dim=True), 0.5)
    return y1, y2, e


def fm():
    idx, value, label = idx_inputs()
    y1, y2, _ = fm_terms(idx, value)
    b = L.create_parameter([1], "float32", name="bias", is_bias=True)
    logit = L.elementwise_add(y1 + y2, b)
    loss = L.mean(L.sigmoid_cross_entropy_with_logits(logit, L.cast(label, "float32")))
    auc_of(L.sigmoid(logit), label)
    return loss


def deepfm():
    idx, value, label = idx_inputs()
    y1, y2, e = fm_terms(idx, value, False, R.L2DecayRegularizer(1e-3))
    h = L.reshape(e, [-1, FIELDS * EMB])
    for size in (8, 8):
        h = L.fc(h, size, act="relu", param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.TruncatedNormal(0.0, 0.3)))
    y3 = L.fc(h, 1)
    p = L.sigmoid(y1 + y2 + y3)
    loss = L.reduce_mean(L.log_loss(p, L.cast(label, "float32")))
    auc_of(p, label)
    return loss


def slot_inputs(n):
    dense = L.data("dense", [5])
    ids = [L.data("s%d" % i, [1], dtype="int64", lod_level=1) for i in range(n)]
    return dense, ids, L.data("label", [1], dtype="int64")


def wide_deep():
    dense, ids, label = slot_inputs(3)
    emb = [L.sequence_pool(L.embedding(x, [VOCAB, EMB], is_sparse=True, param_attr=table("deep")), "sum") for x in ids]
    wide = [L.sequence_pool(L.embedding(x, [VOCAB, 1], is_sparse=True, param_attr=table("wide")), "sum") for x in ids]
    h = L.concat(emb + [dense], axis=1)
    for size in (8, 6):
        h = L.fc(h, size, act="relu")
    logit = L.fc(h, 1) + L.fc(dense, 1) + L.sums(wide)
    p = L.clip(L.sigmoid(logit), 1e-6, 1 - 1e-6)
    loss = L.mean(L.log_loss(p, L.cast(label, "float32")))
    auc_of(p, label)
    return loss


def dcn():
    dense, ids, label = slot_inputs(2)
    emb = [L.sequence_pool(L.embedding(x, [VOCAB, EMB], is_sparse=True, param_attr=table("emb%d" % i)), "average")
           for i, x in enumerate(ids)]
    x0 = L.concat(emb + [dense], axis=1)
    width = 2 * EMB + 5
    x = x0
    for i in range(2):
        w = L.create_parameter([width, 1], "float32", name="cross_w%d" % i)
        b = L.create_parameter([width], "float32", name="cross_b%d" % i, is_bias=True)
        x = L.elementwise_add(L.elementwise_mul(x0, L.matmul(x, w), axis=0) + x, b)
    h = L.fc(x0, 8, bias_attr=False)
    h = L.batch_norm(h, act="relu")
    h = L.dropout(h, 0.3, seed=5, dropout_implementation="upscale_in_train")
    h = L.fc(h, 6, act="relu")
    logit = L.fc(L.concat([x, h], axis=1), 1)
    loss = L.mean(L.sigmoid_cross_entropy_with_logits(logit, L.cast(label, "float32")))
    auc_of(L.sigmoid(logit), label)
    return loss


def logistic():
    ids = L.data("ids", [1], dtype="int64", lod_level=1)
    label = L.data("label", [1], dtype="int64")
    w = L.embedding(ids, [VOCAB, 1], is_sparse=True, param_attr=table("weight"))
    b = L.create_parameter([1], "float32", name="bias", is_bias=True)
    p = L.sigmoid(L.elementwise_add(L.sequence_pool(w, "sum"), b))
    loss = L.mean(L.log_loss(p, L.cast(label, "float32")))
    auc_of(p, label)
    return loss


def word2vec_nce():
    word, target = L.data("word", [1], dtype="int64"), L.data("target", [1], dtype="int64")
    e = L.embedding(word, [50, EMB], is_sparse=True, param_attr=table("emb", 0.5))
    cost = L.nce(e, target, 50, param_attr=table("nce_w", 0.5), bias_attr=fluid.ParamAttr(name="nce_b"), num_neg_samples=5,
                 sampler="uniform", seed=9, is_sparse=True)
    return L.mean(cost)


def word2vec_negative():
    word, target = L.data("word", [1], dtype="int64"), L.data("target", [1], dtype="int64")
    neg = L.data("negative", [4, 1], dtype="int64")
    w = L.embedding(word, [50, EMB], is_sparse=True, param_attr=table("emb", 0.5))
    t = L.embedding(target, [50, EMB], is_sparse=True, param_attr=table("emb_w", 0.5))
    n = L.embedding(neg, [50, EMB], is_sparse=True, param_attr=table("emb_w", 0.5))
    tb = L.embedding(target, [50, 1], is_sparse=True, param_attr=table("emb_b", 0.1))
    nb = L.embedding(neg, [50, 1], is_sparse=True, param_attr=table("emb_b", 0.1))
    pos_logit = L.elementwise_add(L.reduce_sum(L.elementwise_mul(w, t), dim=1, keep_dim=True), tb)
    neg_logit = L.matmul(L.reshape(w, [-1, 1, EMB]), n, transpose_y=True)
    neg_logit = L.reshape(neg_logit, [-1, 4]) + L.reshape(nb, [-1, 4])
    one = L.fill_constant_batch_size_like(pos_logit, [-1, 1], "float32", 1.0)
    zero = L.fill_constant_batch_size_like(pos_logit, [-1, 4], "float32", 0.0)
    cost = L.elementwise_add(L.reduce_sum(L.sigmoid_cross_entropy_with_logits(pos_logit, one), dim=1),
                             L.reduce_sum(L.sigmoid_cross_entropy_with_logits(neg_logit, zero), dim=1))
    return L.reduce_mean(cost)


def simnet():
    def bow(x):
        e = L.embedding(x, [VOCAB, EMB], is_sparse=True, param_attr=table("emb", 0.5))
        return L.fc(L.softsign(L.sequence_pool(e, "sum")), 6, act="relu", param_attr=fluid.ParamAttr(name="fc.w"),
                    bias_attr=fluid.ParamAttr(name="fc.b_0"))

    q, p, n = [L.data(k, [1], dtype="int64", lod_level=1) for k in ("query", "pos_title", "neg_title")]
    qv, pv, nv = bow(q), bow(p), bow(n)
    pos, neg = L.cos_sim(qv, pv), L.cos_sim(qv, nv)
    margin = L.fill_constant_batch_size_like(pos, [-1, 1], "float32", 0.3)
    zero = L.fill_constant_batch_size_like(pos, [-1, 1], "float32", 0.0)
    return L.mean(L.elementwise_max(zero, L.elementwise_add(L.elementwise_sub(neg, pos), margin)))


def tiny(sparse=None):
    def build():
        x, y = L.data("x", [4]), L.data("y", [1])
        if sparse is not None:
            ids = L.data("ids", [1], dtype="int64", lod_level=1)
            e = L.sequence_pool(L.embedding(ids, [12, 3], is_sparse=sparse, param_attr=table("table", 0.5)), "sum")
            x = L.concat([x, e], axis=1)
        return L.mean(L.square_error_cost(L.fc(x, 1), y))

    return build


def _clip():
    C.set_gradient_clip(C.GradientClipByGlobalNorm(0.5))


RATES = [
    ("exponential", lambda: L.exponential_decay(0.1, 4, 0.5)),
    ("exponential_staircase", lambda: L.exponential_decay(0.1, 4, 0.5, staircase=True)),
    ("natural_exp", lambda: L.natural_exp_decay(0.1, 4, 0.5)),
    ("natural_exp_staircase", lambda: L.natural_exp_decay(0.1, 4, 0.5, staircase=True)),
    ("inverse_time", lambda: L.inverse_time_decay(0.1, 4, 0.5)),
    ("inverse_time_staircase", lambda: L.inverse_time_decay(0.1, 4, 0.5, staircase=True)),
    ("polynomial", lambda: L.polynomial_decay(0.1, 5, 0.01, 2.0)),
    ("polynomial_cycle", lambda: L.polynomial_decay(0.1, 5, 0.01, 2.0, cycle=True)),
    ("piecewise", lambda: L.piecewise_decay([3, 7], [0.1, 0.05, 0.01])),
    ("noam", lambda: L.noam_decay(16, 4)),
    ("cosine", lambda: L.cosine_decay(0.1, 3, 4)),
    ("linear_warmup", lambda: L.linear_lr_warmup(0.1, 5, 0.01, 0.1)),
    ("linear_warmup_piecewise", lambda: L.linear_lr_warmup(L.piecewise_decay([7, 9], [0.1, 0.05, 0.01]), 5, 0.01, 0.1)),
]


def _decay_and_clip():
    found = []
    for kind, tag in ((None, "fc_only"), (True, "sparse_table"), (False, "dense_table")):
        if kind is not False:
            found += [("regularizer_l2_" + tag, kind, lambda: O.SGD(0.1, regularization=R.L2Decay(0.1))),
                      ("regularizer_l1_" + tag, kind, lambda: O.SGD(0.1, regularization=R.L1Decay(0.1)))]
        found += [("clip_global_norm_" + tag, kind, lambda: O.SGD(0.1, grad_clip=C.GradientClipByGlobalNorm(0.5)))]
        if kind is not False:
            found += [("clip_value_" + tag, kind, lambda: O.SGD(0.1, grad_clip=C.GradientClipByValue(0.2, -0.1))),
                      ("clip_norm_" + tag, kind, lambda: O.SGD(0.1, grad_clip=C.GradientClipByNorm(0.5)))]
    found += [("clip_and_regularizer", True, lambda: O.Adam(
        0.1, grad_clip=C.GradientClipByGlobalNorm(0.5), regularization=R.L2Decay(0.1))),
              ("clip_global_norm_not_reached", None, lambda: O.SGD(0.1, grad_clip=C.GradientClipByGlobalNorm(500.0)))]
    return [(name, tiny(kind), make, 0, None) for name, kind, make in found]


MODELS = [
    ("linreg_sgd", linreg, lambda: O.SGD(0.01), 7, None),
    ("ctr_dnn_sgd", ctr(True), lambda: O.SGD(0.005), 7, None),
    ("ctr_dnn_sgd_dense", ctr(False), lambda: O.SGD(0.005), 7, None),
    ("ctr_dnn_adam", ctr(True), lambda: O.Adam(1e-3), 7, None),
    ("ctr_dnn_adam_lazy", ctr(True), lambda: O.Adam(1e-3, lazy_mode=True), 7, None),
    ("ctr_dnn_adam_dense", ctr(False), lambda: O.Adam(1e-3), 7, None),
    ("ctr_dnn_adagrad", ctr(True), lambda: O.Adagrad(0.01), 7, None),
    ("ctr_dnn_momentum", ctr(True), lambda: O.Momentum(0.002, 0.9), 7, None),
    ("ctr_dnn_nesterov", ctr(True), lambda: O.Momentum(0.002, 0.9, use_nesterov=True), 7, None),
    ("ctr_dnn_rmsprop", ctr(True), lambda: O.RMSProp(0.001), 7, None),
    ("ctr_dnn_rmsprop_centered", ctr(True), lambda: O.RMSProp(0.001, centered=True, momentum=0.5), 7, None),
    ("ctr_dnn_decayed_adagrad_dense", ctr(False), lambda: O.DecayedAdagrad(0.001), 7, None),
    ("ctr_dnn_adamax_dense", ctr(False), lambda: O.Adamax(0.001), 7, None),
    ("ctr_dnn_adadelta_dense", ctr(False), lambda: O.Adadelta(1.0), 7, None),
    ("ctr_dnn_ftrl_dense", ctr(False), lambda: O.Ftrl(0.1, l1=0.001), 7, None),
    ("ctr_dnn_lamb", ctr(True), lambda: O.Lamb(0.001), 7, None),
    ("ctr_dnn_lars_dense", ctr(False), lambda: O.LarsMomentum(0.05, 0.9), 7, None),
    ("ctr_dnn_multi_id_adam", lambda: ctr_net(True, slots=8, pool=True)[0], lambda: O.Adam(1e-3), 7, None),
    ("ctr_dnn_full", None, None, 0, None),
    ("fm_sgd", fm, lambda: O.SGD(0.5), 7, None),
    ("deepfm_adam", deepfm, lambda: O.Adam(0.01), 7, None),
    ("wide_deep_adam", wide_deep, lambda: O.Adam(0.01), 7, None),
    ("dcn_sgd", dcn, lambda: O.SGD(0.05), 7, None),
    ("logistic_regression_sgd", logistic, lambda: O.SGD(0.5), 7, None),
    ("word2vec_nce_sgd", word2vec_nce, lambda: O.SGD(0.5), 7, None),
    ("word2vec_negsampling_adam", word2vec_negative, lambda: O.Adam(0.02), 7, None),
    ("dssm_simnet_bow_sgd", simnet, lambda: O.SGD(0.5), 7, None),
] + [("lr_" + name, tiny(), (lambda rate: lambda: O.SGD(rate()))(rate), 0, None) for name, rate in RATES
     ] + _decay_and_clip() + [("clip_set_gradient_clip", tiny(), lambda: O.SGD(0.1), 0, _clip)]
