"""Records the cases of optimizers.tar.xz on real Paddle (1.8.5, then 2.6.2), in the form of docs/guide/record.md:

    PYTHONPATH=tools python tests/golden/record_optimizers.py optimizers
    tar --sort=name --owner=0 --group=0 --mtime=2026-01-01 -cJf tests/golden/optimizers.tar.xz optimizers

A small click network: a table looked up twice, a hidden layer, biases that start at 0. `rows` cases have a sparse table.
"""
import os
import sys

import numpy as np
import paddle
from record_paddle import record

FIRST = paddle.__version__.startswith("1.")
ROWS, WIDTH, STEPS = 9, 3, 6

#: name -> (optimizer, sparse table)
CASES_1X = {
    "lars": ("O.LarsMomentum(0.5, 0.8, lars_coeff=0.1, lars_weight_decay=0.01)", False),
    "lars_no_decay": ("O.LarsMomentum(0.5, 0.8, lars_coeff=0.1, lars_weight_decay=0.0)", False),
    "lamb_chosen": ("O.Lamb(0.05, 0.1, exclude_from_weight_decay_fn=lambda p: p.name.endswith('b_0'))", False),
    "ftrl": ("O.Ftrl(0.2, l1=0.01, lr_power=-0.6)", False),
    "adamax": ("O.Adamax(0.05, 0.8, 0.9, 1e-4)", False),
}
CASES_2X = {
    "adamw": ("O.AdamW(0.05)", False),
    "adamw_betas": ("O.AdamW(0.05, 0.8, 0.9, 1e-3, weight_decay=0.5)", False),
    "adamw_no_decay": ("O.AdamW(0.05, weight_decay=0.0)", False),
    "adamw_chosen": ("O.AdamW(0.05, weight_decay=0.5, apply_decay_param_fun=lambda name: name.endswith('w_0'))", False),
    "adamw_clip": ("O.AdamW(0.05, weight_decay=0.5, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.1))", False),
    "adamw_rate": ("O.AdamW(0.05, weight_decay=0.5)", False),  # the table at half the rate
    "momentum_decay": ("O.Momentum(0.1, 0.8, weight_decay=0.2)", False),
    "momentum_decay_nesterov_rows": ("O.Momentum(0.1, 0.8, use_nesterov=True, weight_decay=0.2)", True),
    "lamb_no_decay": ("O.Lamb(0.05, 0.0)", False),
    "lamb_always_adapt": ("O.Lamb(0.05, 0.0, always_adapt=True)", False),
    "adamax": ("O.Adamax(0.05, 0.8, 0.9, 1e-4)", False),
    "adadelta": ("O.Adadelta(0.5, 1e-4, 0.8)", False),
    "rmsprop_centered_rows": ("O.RMSProp(0.02, 0.9, 1e-3, 0.5, True)", True),
    "adagrad_start_rows": ("O.Adagrad(0.1, initial_accumulator_value=0.2)", True),
}


def start(shape, seed):
    return np.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype("float32")


def feeds():
    rng = np.random.RandomState(4)
    for _ in range(3):
        ids = rng.randint(0, ROWS, (5, 2)).astype("int64")
        yield {"first": ids[:, :1], "second": ids[:, 1:], "click": rng.randint(0, 2, (5, 1)).astype("float32")}


def network_1x(sparse, rate):
    import paddle.fluid as fluid
    L, given = fluid.layers, fluid.initializer.NumpyArrayInitializer
    table = fluid.ParamAttr(name="table", initializer=given(start((ROWS, WIDTH), 1)), learning_rate=rate)
    ids = [L.data(name, [1], dtype="int64") for name in ("first", "second")]
    rows = [L.embedding(i, [ROWS, WIDTH], is_sparse=sparse, param_attr=table) for i in ids]
    hidden = L.fc(L.concat(rows, axis=1), 4, act="tanh", param_attr=fluid.ParamAttr(initializer=given(start((2 * WIDTH, 4), 2))))
    logit = L.fc(hidden, 1, param_attr=fluid.ParamAttr(initializer=given(start((4, 1), 3))))
    return L.mean(L.sigmoid_cross_entropy_with_logits(logit, L.data("click", [1])))


def network_2x(sparse, rate):
    nn, given = paddle.nn, paddle.nn.initializer.Assign
    ids = [paddle.static.data(name, [None, 1], "int64") for name in ("first", "second")]
    table = nn.Embedding(ROWS, WIDTH, sparse=sparse, weight_attr=paddle.ParamAttr(
        name="table", initializer=given(start((ROWS, WIDTH), 1)), learning_rate=rate))
    rows = paddle.concat([paddle.reshape(table(i), [-1, WIDTH]) for i in ids], axis=1)
    hidden = paddle.tanh(nn.Linear(2 * WIDTH, 4, weight_attr=paddle.ParamAttr(initializer=given(start((2 * WIDTH, 4), 2))))(rows))
    logit = nn.Linear(4, 1, weight_attr=paddle.ParamAttr(initializer=given(start((4, 1), 3))))(hidden)
    click = paddle.static.data("click", [None, 1], "float32")
    return paddle.mean(nn.functional.binary_cross_entropy_with_logits(logit, click, reduction="none"))


def main(out):
    if FIRST:
        import paddle.fluid as static
        names, unique = {"O": static.optimizer}, static.unique_name
    else:
        paddle.enable_static()
        static, unique = paddle.static, paddle.utils.unique_name
        names = {"O": paddle.optimizer, "paddle": paddle}
    exe = static.Executor(static.CPUPlace() if FIRST else paddle.CPUPlace())
    for name, (optimizer, sparse) in (CASES_1X if FIRST else CASES_2X).items():
        program, startup = static.Program(), static.Program()
        with static.program_guard(program, startup), unique.guard():
            loss = (network_1x if FIRST else network_2x)(sparse, 0.5 if name.endswith("_rate") else 1.0)
            eval(optimizer, names).minimize(loss)
        record(exe, program, startup, list(feeds()), [loss], os.path.join(out, "1x" if FIRST else "2x", name), steps=STEPS,
               what="%s, %s table" % (optimizer, "sparse" if sparse else "dense"))


if __name__ == "__main__":
    main(sys.argv[1])
