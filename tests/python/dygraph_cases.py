"""What fluid.dygraph of 1.8.5 does: run by it once (dygraph_recorded.json), and by test_eager_fluid_rules.py."""
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import dygraph as D

O, I, L = fluid.optimizer, fluid.initializer, fluid.layers

#: every optimizer of dygraph with settings that tell the rules of 1.8 from those of 2.x
OPTIMIZERS = {
    "SGD": lambda p: O.SGD(0.1, parameter_list=p),
    "Momentum": lambda p: O.Momentum(0.1, 0.8, use_nesterov=True, parameter_list=p),
    "LarsMomentum": lambda p: O.LarsMomentum(0.1, 0.9, parameter_list=p),
    "Adam": lambda p: O.Adam(0.1, epsilon=1e-2, parameter_list=p),
    "AdamClipped": lambda p: O.Adam(D.ExponentialDecay(0.1, 2, 0.5), beta1=0.7, beta2=0.8, epsilon=3e-2,
                                    regularization=fluid.regularizer.L2Decay(0.1),
                                    grad_clip=fluid.clip.GradientClipByGlobalNorm(0.5), parameter_list=p),
    "Adamax": lambda p: O.Adamax(0.1, epsilon=1e-2, parameter_list=p),
    "Adagrad": lambda p: O.Adagrad(0.1, epsilon=1e-2, initial_accumulator_value=0.3, parameter_list=p),
    "DecayedAdagrad": lambda p: O.DecayedAdagrad(0.1, decay=0.8, epsilon=1e-2, parameter_list=p),
    "Adadelta": lambda p: O.Adadelta(0.5, epsilon=1e-3, rho=0.9, parameter_list=p),
    "RMSProp": lambda p: O.RMSProp(0.1, epsilon=1e-2, momentum=0.5, centered=True, parameter_list=p),
    "Ftrl": lambda p: O.Ftrl(0.1, l1=0.01, l2=0.1, parameter_list=p),
    "Lamb": lambda p: O.Lamb(0.1, lamb_weight_decay=0.02, epsilon=1e-2, parameter_list=p),
    "LambExcluded": lambda p: O.Lamb(0.1, exclude_from_weight_decay_fn=lambda q: True, epsilon=1e-2, parameter_list=p),
}


def leaf(values, dtype="float32"):
    out = D.to_variable(np.array(values, dtype))
    out.stop_gradient = False
    return out


def trained(make, sparse=False):
    """Parameters after 4 steps, and the names of what the optimizer keeps."""
    with D.guard():
        linear = D.Linear(3, 1, param_attr=I.Constant(0.5), bias_attr=I.Constant(0.25))
        table = D.Embedding([5, 3], is_sparse=sparse, param_attr=I.Constant(0.3))
        optimizer = make(linear.parameters() + table.parameters())
        for i in range(4):
            x = D.to_variable(np.array([[1, 0.01, 0.001 + i]], "float32"))
            rows = table(D.to_variable(np.array([[1], [i], [2]], "int64")))
            loss = L.reduce_sum(linear(x) * linear(x)) + L.reduce_sum(linear(x * rows))
            loss.backward()
            optimizer.minimize(loss)
            linear.clear_gradients()
            table.clear_gradients()
        values = [linear.weight, linear.bias, table.weight]
        return [float(v) for p in values for v in p.numpy().ravel()], sorted(
            name for name in optimizer.state_dict() if name not in ("LR_Scheduler", "global_step"))


def kept(*tensors):
    return [None if t.gradient() is None else t.gradient().tolist() for t in tensors]


def sorted_gradient(**how):
    with D.guard():
        x = leaf([[3, 1, 2], [5, 9, 7]])
        out, ids = L.argsort(x, **how)
        L.reduce_sum(out * out * D.to_variable(np.array([[1, 2, 3], [4, 5, 6]], "float32"))).backward()
        return out.numpy().tolist(), ids.numpy().tolist(), kept(x, out)


def of_all_tensors():
    with D.guard():
        x = leaf([[1, 2, 3, 4]])
        a, b = L.split(x, 2, dim=1)
        c = L.relu(a)
        loss = L.reduce_sum(c * c)
        loss.backward()
        return kept(x, a, b, c, loss)


def replaced():
    """A second backward takes the place of the first one's gradients."""
    with D.guard():
        x, out = leaf([1, 2]), []
        linear = D.Linear(2, 1, param_attr=I.Constant(0.5))
        for i in range(3):
            y = linear(L.reshape(x, [1, 2])) * float(i + 1)
            y.backward()
            out.append(kept(x, linear.weight, linear.bias, y))
        y.clear_gradient()
        x.clear_gradient()
        return out + kept(x, y)


def not_followed():
    with D.guard():
        x = leaf([1, 2])
        with D.no_grad():
            a = x * 2.0
        b, c = x * 3.0, x.detach()
        c.stop_gradient = False
        values, ids = L.topk(L.reshape(x, [1, 2]), 1)
        L.reduce_sum(a * b * c + values * 2.0).backward()
        grads = D.grad(L.reduce_sum(x * x), [x])[0].numpy().tolist()
        return kept(x, a, b, c, values, ids), grads


def seeded(seed):
    with D.guard():
        fluid.default_main_program().random_seed = seed
        layers = [D.Linear(3, 4), D.Linear(3, 4), D.Conv2D(2, 3, 3), D.Embedding([5, 3]), D.GRUUnit(6)]
        out = [layer.weight for layer in layers] + [L.create_parameter([2, 3], "float32")]
        for name in ("Uniform", "Normal", "TruncatedNormal", "Xavier", "MSRA"):
            out.append(D.Linear(3, 4, param_attr=getattr(I, name)()).weight)
        out.append(D.Linear(3, 4, param_attr=I.Normal(seed=5)).weight)
        x = D.to_variable(np.ones((2, 6), "float32"))
        out += [L.dropout(x, 0.5), D.Dropout(0.5)(x), L.dropout(x, 0.35, seed=3), D.Dropout(0.35, seed=3)(x)]
        return [v.numpy().ravel()[:8].tolist() for v in out]


def modes_of_dropout():
    x, out = None, []
    with D.guard():
        x = leaf(np.ones((1, 4)))
        for how in ("downgrade_in_infer", "upscale_in_train"):
            dropped = L.dropout(x, 1.0, is_test=True, dropout_implementation=how)  # is_test counts for nothing
            L.reduce_sum(dropped).backward()
            out.append([dropped.numpy().tolist(), kept(x)])
            seeded = L.dropout(x, 0.5, is_test=True, seed=9, dropout_implementation=how)
            L.reduce_sum(seeded).backward()
            out.append([seeded.numpy().tolist(), kept(x)])
            with D.no_grad():
                out.append(L.dropout(x, 0.25, dropout_implementation=how).numpy().tolist())
            layer = D.Dropout(0.5, dropout_implementation=how, is_test=True)
            layer.eval()
            out.append([layer(x).numpy().tolist(), L.dropout(x, 0.25).numpy().tolist(), (x * x).stop_gradient])
            layer.train()
            out.append((x * x).stop_gradient)
        layer.eval()
    with D.guard():
        out.append((leaf([1.0]) * 2.0).stop_gradient)
    return out


def guards():
    names = []
    for _ in range(2):
        with D.guard():
            names += [D.Linear(2, 2).weight.name, D.Embedding([4, 2], param_attr=fluid.ParamAttr(name="emb")).weight.name]
            names.append(fluid.default_main_program().random_seed)
            fluid.default_main_program().random_seed = 7
    return names


def equals():
    with D.guard():
        inf, nan = float("inf"), float("nan")
        a = leaf([1.2e-8, 1e-8, 0, 1, inf, -inf, inf, nan, 3e-8, -1e-8])
        b = leaf([1.1e-8, 0, 2e-8, 1.0000001, inf, -inf, -inf, nan, 4.1e-8, 1e-8])
        return [f(a, b).numpy().tolist() for f in (L.equal, L.not_equal, L.less_equal)]


CASES = {"optimizer " + name: (lambda make=make: trained(make)) for name, make in OPTIMIZERS.items()}
CASES.update({"sparse " + name: (lambda make=OPTIMIZERS[name]: trained(make, True)) for name in ("SGD", "Adam", "Lamb", "Adagrad")})
CASES.update({"argsort": sorted_gradient, "argsort down": lambda: sorted_gradient(axis=0, descending=True), "all": of_all_tensors,
              "replaced": replaced, "not followed": not_followed, "seed 1": lambda: seeded(1), "seed 90": lambda: seeded(90),
              "dropout": modes_of_dropout, "guards": guards, "equal": equals})
