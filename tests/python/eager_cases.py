"""Expressions of eager mode and what Paddle 2.6.2 gives for them.

    real-python eager_cases.py > eager_recorded.json
"""
import json
import sys
import warnings

import numpy as np
import paddle

warnings.simplefilter("ignore")
TYPES = ("bool", "int32", "int64", "float32", "float64")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "==", "<", ">=")


def operators():
    for sign in OPERATORS:
        for left in TYPES:
            for right in TYPES:
                if not (sign == "**" and left == "bool"):
                    yield "T([1, 3]).astype('%s') %s T([2, 2]).astype('%s')" % (left, sign, right)
            for number in ("2", "2.5", "True", "np.float32(2)", "np.int64(2)"):
                yield "T([1, 3]).astype('%s') %s %s" % (left, sign, number)
        for right in ("int64", "float32"):
            for number in ("2", "2.5"):
                if sign not in ("//", "%"):
                    yield "%s %s T([1, 3]).astype('%s')" % (number, sign, right)
    for text in ("-T([1, -2])", "-T([1.5])", "~T([1, -2])", "~T([True, False])", "T([6, 3]) & T([5, 1])", "T([6, 3]) | T([5, 1])",
                 "T([6, 3]) ^ T([5, 1])", "T([7, -7, 7, -7]) // T([2, 2, -2, -2])", "T([7, -7, 7, -7]) % T([2, 2, -2, -2])",
                 "T([7., -7., 7., -7.]) // T([2., 2., -2., -2.])", "T([7., -7., 7., -7.]) % T([2., 2., -2., -2.])",
                 "T([1., -1., 0.]) / T([0., 0., 0.])", "T([[1., 2.], [3., 4.]]) @ T([1., 2.])", "T([1, 2]) @ T([3, 4])",
                 "T([1., 2.]) + np.array([1, 2])", "T([1., 2.]) + np.array([1., 2.])", "np.array([1., 2.]) + T([1., 2.])",
                 "T([1.]) + None", "T([1.]) + [1.]", "T([1., 2.]) + T([1., 2., 3.])"):
        yield text


READS = ("1", "-1", "0, 1, 2", "1:3", ":, 1:4", "::2, ::-1", "-3:-1, :, -1", "..., 0", ":, None, 0", "[0, 2]", "np.array([3, 0, 3])",
         "T([2, 2, 1])", "[0, 1, 2], [4, 3, 2]", "T([[0, 1], [3, 3]])", "x > 70.", "T([True, False, True, False])", "1:, [0, 2]",
         "2:100", "0, :, [1, 2]", "[0, 1], :, [1, 2]", "..., [0, 1]", ":, T([True, False, True, True, False])", "True", "None", "...",
         "T(1)", "T(1), T(2)", "1, T([1, 2])", "::-2, 1", "5:7", "[]", "1, None, 2", "4", "0, 0, 0, 0", "1.5", "'a'",
         "T([True, False])", ":, T(1):T(4)", "::-1, ::-1, ::-1", "3:0:-1", "np.int64(2)", "range(2)")
WRITES = (("1", "0."), (":, :2", "7."), ("0", "paddle.arange(15, dtype='float32').reshape([5, 3])"), ("x > 30.", "-1."),
          ("[0, 2]", "3."), ("(2, 3)", "np.array([1., 2., 3.], 'float32')"), ("(slice(None), 1)", "T([9., 8., 7.])"),
          ("..., 0", "T(5)"), ("[0, 1], [2, 3]", "T([[1., 2., 3.], [4., 5., 6.]])"), ("1:, ::2, -1", "0"), ("0", "paddle.ones([4])"))


def indexing():
    for read in READS:
        yield "x = BIG(); r = x[%s]" % read
    for place, value in WRITES:
        yield "x = BIG(); x[%s] = %s; r = x" % (place, value)
        yield "x = BIG(); x.stop_gradient = False; y = x * 2; y[%s] = %s; (y * y).sum().backward(); r = x.grad" % (place, value)


PRINTED = ("T([1., 2.5, -3.25])", "T(3)", "T(2.5)", "T([[1., 2.], [3., 4.5]])", "T([True, False])", "T([])", "T([1e10, 1e-10])",
           "T([float('nan'), float('inf'), -1.5])", "paddle.arange(30)", "paddle.arange(2000).reshape([2, 10, 100])",
           "paddle.arange(24, dtype='float32').reshape([2, 3, 4]) / 7", "paddle.zeros([2, 0, 3])", "T([1, -20, 300])",
           "T([1.5]).astype('float64')", "T([1, 2]).astype('uint8')", "paddle.ones([1200], 'float32')", "T([1.00390625]).astype('bfloat16')",
           "T([0.1, 1234567.5])")


def methods():
    for text in PRINTED:
        yield "r = str(%s)" % text
    for text in (
            "float(T([2.5]))", "int(T(2.7))", "bool(T([0]))", "float(T([1., 2.]))", "bool(T([1, 2]))", "len(T([1, 2]))", "len(T(1))",
            "T([[1, 2], [3, 4]]).tolist()", "T([1., 2.]).item(1)", "T([1., 2.]).item()", "T([[1, 2], [3, 4]]).item(1, 0)",
            "T([1, 2]).item(5)", "[int(v) for v in T([3, 4])]", "list('abc')[T(1)]", "T([1, 2]).T", "T([[1, 2], [3, 4]]).T",
            "[T([[1.]]).dim(), T([[1.]]).ndimension(), T([1.]).element_size(), T([1, 2]).size]", "str(T(1.).dtype)", "str(T(1.).place)",
            "T([1.5, -1.5]).astype(int)", "T([1.5]).astype('float64')", "T([1.5]).cast('int32')", "T([0., 2.]).astype(bool)",
            "T([1, 2]).is_leaf", "T([[4, 5]]).numpy().tolist()", "T([1.5, 2.], dtype='int64')", "T(T([1, 2]), dtype='float32')",
            "T([T(1.), T(2.)])", "T([[1, 2], [3]])", "T('a')", "T(np.float64(1.5))", "T(True)", "T([1, 2.5])", "T((1, 2))",
            "T([1.], stop_gradient=False).detach().stop_gradient", "T([1., 2.]).clone()", "T([1., 2.]).register_hook(lambda g: g)",
            "T([1., 2.]).gradient()", "paddle.is_tensor(T(1))", "isinstance(T(1), paddle.Tensor)", "np.array(T([1., 2.])).tolist()",
            "T([1., 2.]).set_value(np.zeros([3], 'float32'))", "T([1., 2.]).sum().shape", "T([1, 2]).mean()", "T([2]).exp()",
            "T([4]).sqrt()", "T([[1., 5.], [7., 2.]]).max(axis=1)", "T([3., 1., 2.]).sort()", "T([3., 1., 2.]).argmax()",
            "T([1., 2.]).add(T([1, 2]))", "paddle.concat([T([1]), T([1.])])", "T([1., 2., 3.]).split(2)", "'{:.3f}'.format(T(0.5).item())"):
        yield "r = " + text
    for name, args in (("add_", "ONES"), ("subtract_", "ONES"), ("multiply_", "ONES * 3"), ("divide_", "ONES * 4"),
                       ("scale_", "3., 1."), ("clip_", "-1., 1."), ("exp_", ""), ("tanh_", ""), ("zero_", ""), ("fill_", "2.5"),
                       ("reshape_", "[3, 2]"), ("unsqueeze_", "0"), ("flatten_", ""), ("floor_", ""), ("abs_", ""), ("pow_", "2"),
                       ("sqrt_", ""), ("add_", "paddle.ones([1])"), ("add_", "paddle.ones([4, 2, 3])"), ("sigmoid_", "")):
        yield "x = SMALL(); o = x; r = x.%s(%s); r = [r.numpy().tolist(), r is o, x.inplace_version]" % (name, args)
        yield "x = SMALL(); x.stop_gradient = False; y = x * 2; y.%s(%s); (y * y).sum().backward(); r = x.grad" % (name, args)
        yield "x = SMALL(); x.stop_gradient = False; x.%s(%s)" % (name, args)
    for text in ("x = T([1., 2.], stop_gradient=False); y = x * x; y.backward(); y.backward()",
                 "x = T([1., 2.], stop_gradient=False); y = x * x; y.backward(paddle.ones([3]))",
                 "x = T([1., 2.], stop_gradient=False); y = x * x; z = y * y; y.add_(paddle.ones([2])); z.sum().backward()",
                 "x = T([1., 2.], stop_gradient=False); y = x.detach(); y.set_value(np.array([5., 6.], 'float32')); r = x",
                 "x = T([1., 2.], stop_gradient=False); (x * 3).sum().backward(); x.clear_grad(); r = x.grad",
                 "x = T([1., 2.], stop_gradient=False); (x * 3).sum().backward(); g = x.grad; x.clear_grad(); r = g",
                 "x = T([1., 2.], stop_gradient=False); x.backward(T([3., 4.])); r = x.grad",
                 "x = T([2.], stop_gradient=False); r = paddle.grad(x * x, T([1.], stop_gradient=False))",
                 "x = T([1.]); x.sum().backward(); r = x.grad"):
        yield text


def cases():
    return ["r = " + text for text in operators()] + list(indexing()) + list(methods())


def plain(value):
    """What a case gives, in words of JSON."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "stop_gradient"):
        kind = str(value.dtype).rsplit(".", 1)[-1]
        return [kind, list(value.shape), [round(float(v), 5) if v == v and abs(v) != np.inf else str(v)
                                          for v in np.asarray(value.numpy()).astype("float64").ravel()]]
    if isinstance(value, float):
        return round(value, 5)
    return value


def outcome(text):
    space = {"T": paddle.to_tensor, "np": np, "paddle": paddle, "ONES": paddle.ones([2, 3]), "r": None,
             "BIG": lambda: paddle.arange(60, dtype="float32").reshape([4, 5, 3]),
             "SMALL": lambda: paddle.to_tensor(np.array([[0.5, -1.25, 2.0], [-0.75, 3.0, 0.0]], "float32"))}
    try:
        exec(text, space)
        return plain(space["r"])
    except Exception as error:  # its type is the outcome
        return "raises " + type(error).__name__


if __name__ == "__main__":
    lines = ["%s: %s" % (json.dumps(text), json.dumps(outcome(text))) for text in cases()]
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")
