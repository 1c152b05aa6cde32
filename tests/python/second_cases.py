"""Networks whose losses hold gradients, for Paddle 1.8 and 2.x, and the command that records what real Paddle makes of them:

    python second_cases.py 1 second_1x.json        (real 1.8.5)
    python second_cases.py 2 second_2x.json        (real 2.6.2)

A case gets a face F (the layers that both generations have, under one name) and returns what is fetched; values() gives
the names and numbers of the variables after each of some steps."""
import json
import sys

import numpy as np


class Face1:
    generation = 1

    def __init__(self):
        import paddle.fluid as fluid
        self.fluid, self.l = fluid, fluid.layers
        for name in "tanh sigmoid square sqrt relu leaky_relu mul reduce_sum reduce_mean concat slice reshape mean transpose sign".split():
            setattr(self, name, getattr(self.l, name))
        self.gradients, self.append_backward = fluid.gradients, fluid.backward.append_backward

    def parameter(self, name, value):
        value = np.asarray(value, "float32")
        return self.l.create_parameter(list(value.shape), "float32", name=name,
                                       default_initializer=self.fluid.initializer.NumpyArrayInitializer(value))

    def data(self, name, shape):
        x = self.fluid.data(name, shape, "float32")
        x.stop_gradient = False
        return x

    def fc(self, x, size, name, act=None, value=.3):
        attr = self.fluid.ParamAttr(name=name, initializer=self.fluid.initializer.Constant(value))
        return self.l.fc(x, size, param_attr=attr, bias_attr=self.fluid.ParamAttr(name=name + "_b"), act=act)

    def sgd(self, rate, loss, momentum=0.0):
        o = self.fluid.optimizer
        (o.Momentum(rate, momentum) if momentum else o.SGD(rate)).minimize(loss)

    def run(self, build, feed, steps):
        fluid = self.fluid
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            fetched = build(self)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            got = [exe.run(main, feed=feed, fetch_list=fetched) for _ in range(steps)]
        return [v.name for v in fetched], got


class Face2(Face1):
    generation = 2

    def __init__(self):
        import paddle
        paddle.enable_static()
        self.paddle, self.static = paddle, paddle.static
        for name in "tanh square sqrt concat slice reshape mean transpose sign".split():
            setattr(self, name, getattr(paddle, name))
        self.sigmoid, self.relu, self.leaky_relu = paddle.nn.functional.sigmoid, paddle.nn.functional.relu, paddle.nn.functional.leaky_relu
        self.mul, self.reduce_sum, self.reduce_mean = paddle.matmul, paddle.sum, paddle.mean
        self.gradients, self.append_backward = self.static.gradients, self.static.append_backward

    def parameter(self, name, value):
        value = np.asarray(value, "float32")
        return self.paddle.create_parameter(list(value.shape), "float32", name=name,
                                            default_initializer=self.paddle.nn.initializer.Assign(value))

    def data(self, name, shape):
        x = self.static.data(name, shape, "float32")
        x.stop_gradient = False
        return x

    def fc(self, x, size, name, act=None, value=.3):
        attr = self.paddle.ParamAttr(name=name, initializer=self.paddle.nn.initializer.Constant(value))
        return self.static.nn.fc(x, size, weight_attr=attr, bias_attr=self.paddle.ParamAttr(name=name + "_b"), activation=act)

    def sgd(self, rate, loss, momentum=0.0):
        o = self.paddle.optimizer
        (o.Momentum(rate, momentum) if momentum else o.SGD(rate)).minimize(loss)

    def run(self, build, feed, steps):
        static = self.static
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), self.paddle.utils.unique_name.guard(), static.scope_guard(static.Scope()):
            fetched = build(self)
            exe = static.Executor()
            exe.run(startup)
            got = [exe.run(main, feed=feed, fetch_list=fetched) for _ in range(steps)]
        return [v.name for v in fetched], got


X = np.array([[.5, -1.2, 2.], [1.5, .7, -.4]], "float32")
W = [[.3, -.2], [.5, .9], [-.7, .4]]
CASES = []


def case(generations=(1, 2), steps=1, **feed):
    def keep(build):
        CASES.append((build, generations, feed, steps))
        return build
    return keep


@case()
def square_of_gradient_and_cube(F):
    x = F.parameter("x", [3.])
    g, = F.gradients([x * x], [x])
    return [g] + F.gradients([g * g + x * x * x], [x])


@case()
def gradient_first_read_by_a_copy(F):
    x = F.parameter("x", [3.])
    g, = F.gradients([x * x * x], [x])
    return [g] + F.gradients([g * 1.0 + x * x], [x])


@case()
def products(F):
    x, y = F.parameter("x", X), F.parameter("y", 2 * X + 1)
    g = F.gradients([F.reduce_sum(x * y * x)], [x, y])
    return list(g) + list(F.gradients([F.reduce_sum(g[0] * g[0]) + F.reduce_sum(g[1] * x)], [x, y]))


@case()
def broadcast_quotient(F):
    x, y = F.parameter("x", X), F.parameter("y", [1.5, .5, 2.])
    g = F.gradients([F.reduce_sum(x / y * x)], [x, y])
    return list(g) + list(F.gradients([F.reduce_sum(g[0] * g[0]) + F.reduce_sum(g[1] * g[1] * g[1])], [x, y]))


@case()
def square_and_root(F):
    x = F.parameter("x", X * X + 1)
    g, = F.gradients([F.reduce_mean(F.sqrt(x) * F.square(x))], [x])
    return [g] + F.gradients([F.reduce_sum(F.square(g))], [x])


@case()
def piecewise(F):
    x, w = F.parameter("x", X), F.parameter("w", W)
    h = F.leaky_relu(F.relu(F.mul(x, w)) - 0.3, 0.1)
    g = F.gradients([F.reduce_sum(h * h)], [x, w])
    return list(g) + list(F.gradients([F.reduce_sum(g[0] * g[0])], [x, w]))


@case()
def shapes(F):
    x = F.parameter("x", X)
    h = F.reshape(x, [3, 2])
    h = F.slice(h * h, [0], [1], [3])
    g, = F.gradients([F.reduce_sum(h * h)], [x])
    return [g] + F.gradients([F.reduce_sum(g * g)], [x])


@case(generations=(2,))
def moved(F):
    x = F.parameter("x", X)
    h = F.concat([F.transpose(x, [1, 0]) * 2.0, F.reshape(x, [3, 2])], axis=1)
    g, = F.gradients([F.reduce_sum(h * h * h)], [x])
    return [g] + F.gradients([F.reduce_sum(g * g)], [x])


@case(generations=(2,))
def curved(F):
    x = F.parameter("x", np.abs(X) + .1)
    p = F.paddle
    h = F.tanh(x) * F.sigmoid(x) + p.log(x) * p.sin(x) + p.cos(x) * p.pow(x, 3) + p.abs(x)
    g, = F.gradients([F.reduce_sum(h)], [x])
    return [g] + F.gradients([F.reduce_sum(g * g)], [x])


def third(f):
    def build(F):
        x = F.parameter("x", np.abs(X) + .1)
        first, = F.gradients([f(F, x)], [x])
        second, = F.gradients([first], [x])
        return [first, second] + F.gradients([second], [x])
    build.__name__ = f.__name__
    return case(generations=(2,))(build)


@third
def third_of_tanh(F, x):
    return F.tanh(x)


@third
def third_of_sigmoid(F, x):
    return F.sigmoid(x)


@third
def third_of_sin(F, x):
    return F.paddle.sin(x)


@third
def third_of_power(F, x):
    return F.paddle.pow(x, 4)


@case(generations=(2,))
def third_of_matmul(F):
    x, w = F.parameter("x", X), F.parameter("w", W)
    h = F.mul(x, w)
    g, = F.gradients([F.reduce_sum(h * h * h)], [x])
    g2, = F.gradients([F.reduce_sum(g * g)], [x])
    return [g, g2] + list(F.gradients([F.reduce_sum(g2 * x)], [w]))


@case(steps=3, x=X)
def penalty(F):
    x = F.data("x", [2, 3])
    h = F.fc(F.fc(x, 4, "a", "relu", .5), 1, "b")
    loss = F.reduce_mean(h)
    g, = F.gradients([F.reduce_sum(h * h)], [x])
    loss = loss + F.reduce_mean(F.square(F.sqrt(F.reduce_sum(F.square(g), 1) + 1e-6) - 1.0))
    F.sgd(.05, loss)
    return [loss, g]


@case(steps=3, x=X)
def penalty_alone(F):
    x = F.data("x", [2, 3])
    h = F.fc(x, 2, "a", "relu")
    g, = F.gradients([F.reduce_sum(h * h)], [x])
    loss = F.reduce_sum(g * g)
    F.sgd(.01, loss, momentum=.9)
    return [loss, g]


@case(x=X)
def pairs_of_a_penalty(F):
    x = F.data("x", [2, 3])
    h = F.fc(x, 2, "a")
    g, = F.gradients([F.reduce_sum(h * h)], [x])
    pairs = F.append_backward(F.reduce_sum(g * g) + F.reduce_mean(h))
    return [v for pair in pairs for v in pair]


@case()
def given_gradients(F):
    x, v = F.parameter("x", X), F.parameter("v", X[::-1] * .5)
    g, = F.gradients([x * x], [x], target_gradients=[v])
    return [g] + list(F.gradients([F.reduce_sum(g * g)], [x, v]))


@case()
def two_calls_of_one_target(F):
    x, y = F.parameter("x", X), F.parameter("y", X + 1)
    z = F.reduce_sum(x * y)
    return F.gradients([z], [x]) + F.gradients([z], [y]) + F.gradients([z * z], [x])


@case()
def difference(F):
    x = F.parameter("x", [3.])
    g, = F.gradients([x * x], [x])
    d = x - g
    return [g] + F.gradients([d * d], [x])


def values(face, one):
    build, _, feed, steps = one
    return face.run(build, feed, steps)


def compare(test, face, path):
    with open(path) as file:
        want = json.load(file)
    for one in CASES:
        if face.generation not in one[1]:
            continue
        with test.subTest(case=one[0].__name__):
            names, got = values(face, one)
            right = want.pop(one[0].__name__)
            test.assertEqual(names, right["names"])
            for step, (now, rights) in enumerate(zip(got, right["values"])):
                for name, a, b in zip(names, now, rights):
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg="step %d, %s" % (step, name))
    test.assertEqual(want, {})


if __name__ == "__main__":
    face = {"1": Face1, "2": Face2}[sys.argv[1]]()
    out = {}
    for one in CASES:
        if face.generation in one[1]:
            print(one[0].__name__, flush=True)
            names, got = values(face, one)
            out[one[0].__name__] = {"names": names, "values": [[np.asarray(v).tolist() for v in step] for step in got]}
    with open(sys.argv[2], "w") as file:
        json.dump(out, file, indent=0)
