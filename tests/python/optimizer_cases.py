"""What every optimizer makes of a small network: programs, and parameters after a few steps. Runs on real Paddle too:

    python optimizer_cases.py optimizers.json      with Paddle 1.8.5, then with 2.6.2

writes what was recorded into the file; test_fluid_optimizers.py and test_paddle2_optimizers.py compare Skiff with it. Recorded are, by the first number of the version,
`signatures` (class -> [[argument, default or "needed"]...]) and `cases` (expression -> ops of both programs, parameters).
"""
import inspect
import json
import os
import sys

import numpy as np
import paddle

GENERATION = 1 if hasattr(paddle, "fluid") and paddle.__version__.startswith("1.") else 2
STEPS = 4
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-1.0, 1.0, 1.0], [0.0, -2.0, 0.75]], "float32")
W = [np.array([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]], "float32"), np.array([[0.7], [-0.8]], "float32")]
#: in ours, or in Paddle's, without a meaning for the numbers
LABELS = ("op_callstack", "op_namescope", "op_device", "op_role", "op_role_var", "with_quant_attr", "sub_block")

CASES = {
    1: ["O.SGD(0.1)", "O.Momentum(0.1, 0.8)", "O.Momentum(0.1, 0.8, use_nesterov=True)",
        "O.Momentum(0.1, 0.8, regularization=R.L2Decay(0.1))",
        "O.LarsMomentum(0.1, 0.8)", "O.LarsMomentum(0.1, 0.8, lars_coeff=0.01, lars_weight_decay=0.1)",
        "O.LarsMomentum(0.1, 0.8, lars_weight_decay=0.0)",
        "O.Adagrad(0.1)", "O.Adagrad(0.1, epsilon=1e-3, initial_accumulator_value=0.5)",
        "O.Adam()", "O.Adam(0.1, 0.8, 0.9, 1e-4, lazy_mode=True, name='own')", "O.Adam(0.1, regularization=R.L1Decay(0.1))",
        "O.Adamax()", "O.Adamax(0.1, 0.8, 0.9, 1e-4)", "O.DecayedAdagrad(0.1)", "O.DecayedAdagrad(0.1, decay=0.5, epsilon=1e-3)",
        "O.Adadelta(0.1)", "O.Adadelta(0.1, epsilon=1e-3, rho=0.5)", "O.RMSProp(0.1)", "O.RMSProp(0.1, 0.9, 1e-4, 0.5, True)",
        "O.Ftrl(0.1)", "O.Ftrl(0.1, l1=0.1, l2=0.2, lr_power=-0.6)", "O.Lamb()",
        "O.Lamb(0.1, 0.02, 0.8, 0.9, 1e-4, exclude_from_weight_decay_fn=lambda p: p.name.endswith('b_0'))",
        "O.Lamb(0.1, 0.0)", "O.Lamb(0.1, regularization=R.L2Decay(0.1))",
        "O.Dpsgd(0.1, clip=0.5, sigma=0.0)", "O.Dpsgd(sigma=0.0)"],
    2: ["O.SGD()", "O.SGD(0.1, weight_decay=0.5)", "O.Momentum()",
        "O.Momentum(0.1, 0.8, use_nesterov=True, rescale_grad=0.5)", "O.Momentum(0.1, 0.8, weight_decay=0.5)",
        "O.Momentum(0.1, 0.8, weight_decay=R.L1Decay(0.5))", "O.Adagrad(0.1)",
        "O.Adagrad(0.1, epsilon=1e-3, initial_accumulator_value=0.5)", "O.Adam()",
        "O.Adam(0.1, 0.8, 0.9, 1e-4, lazy_mode=True, name='own')", "O.Adam(0.1, weight_decay=0.5)", "O.AdamW()",
        "O.AdamW(0.1, 0.8, 0.9, 1e-4, weight_decay=0.5)", "O.AdamW(0.1, weight_decay=0.0)",
        "O.AdamW(0.1, apply_decay_param_fun=lambda name: name.endswith('w_0'))",
        "O.AdamW(O.lr.PiecewiseDecay([1, 2], [0.1, 0.2, 0.3]), lazy_mode=True)",
        "O.AdamW(0.1, grad_clip=paddle.nn.ClipGradByNorm(1.0))", "O.Adamax()", "O.Adamax(0.1, 0.8, 0.9, 1e-4)", "O.Adadelta()",
        "O.Adadelta(0.1, 1e-4, 0.8)", "O.RMSProp(0.1)", "O.RMSProp(0.1, 0.9, 1e-4, 0.5, True)", "O.Lamb()",
        "O.Lamb(0.1, 0.02, 0.8, 0.9, 1e-4, exclude_from_weight_decay_fn=lambda p: p.name.endswith('b_0'))",
        "O.Lamb(0.1, 0.0)", "O.Lamb(0.1, 0.0, always_adapt=True)"],
}


def generation(which):
    """The names that a case is written with, and how its network is built."""
    if which == 1:
        import paddle.fluid as fluid
        return dict(O=fluid.optimizer, R=fluid.regularizer), Fluid(fluid)
    paddle.enable_static()
    return dict(O=paddle.optimizer, R=paddle.regularizer, paddle=paddle), Second()


class Fluid(object):
    def __init__(self, fluid):
        self.fluid, self.executor = fluid, fluid.Executor(fluid.CPUPlace())

    def guards(self, main, startup, scope):
        return self.fluid.program_guard(main, startup), self.fluid.unique_name.guard(), self.fluid.scope_guard(scope)

    def new(self):
        return self.fluid.Program(), self.fluid.Program(), self.fluid.Scope()

    def attr(self, i, **keys):
        return self.fluid.ParamAttr(initializer=self.fluid.initializer.NumpyArrayInitializer(W[i]), **keys)

    def loss(self):
        layers = self.fluid.layers
        hidden = layers.fc(layers.data("x", [3]), 2, act="tanh", param_attr=self.attr(0))
        return layers.mean(layers.square(layers.fc(hidden, 1, param_attr=self.attr(1, learning_rate=0.5))))


class Second(object):
    def __init__(self):
        self.executor = paddle.static.Executor(paddle.CPUPlace())

    def guards(self, main, startup, scope):
        static = paddle.static
        return static.program_guard(main, startup), paddle.utils.unique_name.guard(), static.scope_guard(scope)

    def new(self):
        return paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()

    def attr(self, i, **keys):
        return paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(W[i]), **keys)

    def loss(self):
        x = paddle.static.data("x", [None, 3], "float32")
        hidden = paddle.tanh(paddle.nn.Linear(3, 2, weight_attr=self.attr(0))(x))
        return paddle.mean(paddle.square(paddle.nn.Linear(2, 1, weight_attr=self.attr(1, learning_rate=0.5))(hidden)))


def plain(value):
    """Comparable: floats with 6 digits."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return float("%.6g" % value) if isinstance(value, float) else value


def ops(program):
    """[type, inputs, outputs, attributes] of every op of the global block."""
    rows = []
    for op in program.global_block().ops:
        names = [n for n in op.attr_names if n not in LABELS]
        rows.append([op.type, {s: list(op.input(s)) for s in op.input_names if op.input(s)},
                     {s: list(op.output(s)) for s in op.output_names if op.output(s)}, {n: plain(op.attr(n)) for n in sorted(names)}])
    return rows


def run(expression, which):
    """{"startup": ops, "main": ops of the optimizer, "parameters": {name: numbers after STEPS steps}}"""
    names, build = generation(which)
    main, startup, scope = build.new()
    guards = build.guards(main, startup, scope)
    with guards[0], guards[1], guards[2]:
        loss = build.loss()
        backward = len(main.global_block().ops) * 2 + 1  # behind the gradients
        optimizer = eval(expression, names)
        optimizer.minimize(loss)
        build.executor.run(startup)
        for _ in range(STEPS):
            build.executor.run(main, feed={"x": X}, fetch_list=[loss])
            if hasattr(optimizer, "_learning_rate") and hasattr(optimizer._learning_rate, "step"):
                optimizer._learning_rate.step()
        values = {p.name: np.array(scope.find_var(p.name).get_tensor()).astype("float64").ravel().tolist()
                  for p in main.all_parameters()}
    return {"startup": ops(startup), "main": ops(main)[backward:], "parameters": values}


def signature(which, name):
    """[[argument, default]...] without self; None: there is no such class."""
    found = getattr(generation(which)[0]["O"], name, None)
    if found is None:
        return None
    empty = inspect.Parameter.empty
    return [[p.name, "needed" if p.default is empty else p.default]
            for p in list(inspect.signature(found.__init__).parameters.values())[1:]]


#: every class with an update rule of its own
CLASSES = {1: "SGD Momentum LarsMomentum Adagrad DecayedAdagrad Adam Adamax Dpsgd Adadelta RMSProp Ftrl Lamb".split(),
           2: "SGD Momentum Adagrad Adam AdamW Adamax Adadelta RMSProp Lamb LBFGS".split()}

if __name__ == "__main__":
    recorded = {}
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1]) as file:
            recorded = json.load(file)
    recorded[str(GENERATION)] = {"version": paddle.__version__,
                                 "signatures": {name: signature(GENERATION, name) for name in CLASSES[GENERATION]},
                                 "cases": {case: run(case, GENERATION) for case in CASES[GENERATION]}}
    with open(sys.argv[1], "w") as file:
        json.dump(recorded, file, sort_keys=True)
