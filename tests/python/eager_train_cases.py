"""Small trainings in eager mode, for real Paddle 2.6.2 and for Skiff. Run by real Paddle it prints what eager_train.json holds:
    python eager_train_cases.py > eager_train.json
"""
import json

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

IDS = ([[1, 2], [2, 5]], [[0, 1], [3, 4]], [[1, 1], [4, 5]])


def numbers(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


class Net(nn.Layer):
    """A table and two dense layers; the second may be left out of a step."""

    def __init__(self, sparse, attr=None):
        super().__init__()
        self.table = nn.Embedding(6, 2, sparse=sparse)
        self.first = nn.Linear(4, 3, weight_attr=attr)
        self.second = nn.Linear(3, 1)
        for i, parameter in enumerate(self.parameters()):
            parameter.set_value(0.5 * numbers(10 + i, *parameter.shape))

    def forward(self, ids, short=False):
        x = paddle.tanh(self.first(self.table(paddle.to_tensor(ids)).reshape([2, 4])))
        return x.sum(axis=1, keepdim=True) if short else self.second(x)


def train(make, sparse=True, attr=None, short=(), clear=True, schedule=None):
    """{name: numbers} after three steps of the optimizer make(parameters)."""
    with paddle.utils.unique_name.guard():
        net = Net(sparse, attr)
        optimizer = make(net)
        losses = []
        for step, ids in enumerate(IDS):
            loss = F.mse_loss(net(ids, step in short), paddle.to_tensor(numbers(step, 2, 1)))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(clear)
            if schedule is not None:
                schedule.step()
            losses.append(loss.item())
        out = {"losses": losses}
        for key, value in list(net.state_dict().items()) + [(k, v) for k, v in optimizer.state_dict().items() if k != "LR_Scheduler"]:
            out[key] = value.numpy().tolist()
        return out


def simple(rule, **options):
    return lambda net: getattr(paddle.optimizer, rule)(parameters=net.parameters(), **options)


def groups(net):
    return paddle.optimizer.Momentum(0.1, weight_decay=0.01, parameters=[
        {"params": net.table.parameters(), "learning_rate": 2.0},
        {"params": net.first.parameters(), "weight_decay": paddle.regularizer.L1Decay(0.1), "momentum": 0.5},
        {"params": net.second.parameters(), "grad_clip": nn.ClipGradByNorm(0.1)}])


def warmed_up():
    schedule = paddle.optimizer.lr.LinearWarmup(0.2, warmup_steps=2, start_lr=0.05, end_lr=0.2)
    return train(lambda net: paddle.optimizer.SGD(schedule, parameters=net.parameters()), schedule=schedule)


def clipped_by_hand():
    """The clips, called with pairs."""
    with paddle.utils.unique_name.guard():
        net = Net(False, paddle.ParamAttr(need_clip=False))
        F.mse_loss(net(IDS[0]), paddle.to_tensor(numbers(0, 2, 1))).backward()
        pairs = [(p, p.grad) for p in net.parameters()]
        clips = (nn.ClipGradByValue(0.2, -0.1), nn.ClipGradByNorm(0.3), nn.ClipGradByGlobalNorm(0.5))
        return {type(clip).__name__: [g.numpy().tolist() for _, g in clip(pairs)] for clip in clips}


def listed_twice():
    """A parameter that is listed twice is moved twice."""
    with paddle.utils.unique_name.guard():
        net = Net(True)
        optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters() + net.first.parameters())
        net(IDS[0]).sum().backward()
        optimizer.step()
        return {key: value.numpy().tolist() for key, value in net.state_dict().items()}


def minimized():
    """minimize for some of the parameters; apply_gradients with other gradients."""
    with paddle.utils.unique_name.guard():
        net = Net(False)
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        loss = net(IDS[0]).sum()
        loss.backward()
        optimizer.minimize(loss, parameters=net.first.parameters())
        optimizer.apply_gradients([(net.second.weight, paddle.ones([3, 1]))])
        return {key: value.numpy().tolist() for key, value in net.state_dict().items()}


CASES = {
    "sgd": lambda: train(simple("SGD", learning_rate=0.1, weight_decay=0.1, grad_clip=nn.ClipGradByGlobalNorm(0.5))),
    "momentum": lambda: train(simple("Momentum", learning_rate=0.1, weight_decay=0.1, use_nesterov=True), sparse=False),
    "adam": lambda: train(simple("Adam", learning_rate=0.1, grad_clip=nn.ClipGradByNorm(0.2))),
    "adam_lazy": lambda: train(simple("Adam", learning_rate=0.1, lazy_mode=True)),
    "adamw": lambda: train(lambda net: paddle.optimizer.AdamW(
        0.1, parameters=net.parameters(), weight_decay=0.3,
        apply_decay_param_fun=lambda name: name.startswith("linear")), sparse=False),
    "lamb": lambda: train(lambda net: paddle.optimizer.Lamb(
        0.1, parameters=net.parameters(), exclude_from_weight_decay_fn=lambda p: p.name.endswith("b_0"))),
    "adagrad": lambda: train(simple("Adagrad", learning_rate=0.1, initial_accumulator_value=0.2)),
    "adamax": lambda: train(simple("Adamax", learning_rate=0.1), sparse=False),
    "adadelta": lambda: train(simple("Adadelta", learning_rate=1.0), sparse=False),
    "rmsprop": lambda: train(simple("RMSProp", learning_rate=0.1, centered=True, momentum=0.9), sparse=False),
    "named": lambda: train(simple("Adam", learning_rate=0.1, name="mine")),
    "attributes": lambda: train(simple("SGD", learning_rate=0.1, weight_decay=0.2), attr=paddle.ParamAttr(
        learning_rate=0.5, regularizer=paddle.regularizer.L1Decay(0.1))),
    "groups": lambda: train(groups),
    "unused_then_used": lambda: train(simple("Adam", learning_rate=0.1), short=(0,)),
    "zeros_are_gradients": lambda: train(simple("Adam", learning_rate=0.1), short=(1, 2)),
    "none_are_not": lambda: train(simple("Adam", learning_rate=0.1), short=(1, 2), clear=False),
    "warmed_up": warmed_up,
    "clipped_by_hand": clipped_by_hand,
    "listed_twice": listed_twice,
    "minimized": minimized,
}

if __name__ == "__main__":
    def short(value):
        return [short(v) for v in value] if isinstance(value, list) else float("%.8g" % value)
    print(json.dumps({name: {key: short(value) for key, value in case().items()} for name, case in CASES.items()},
                     sort_keys=True, separators=(",", ":")))
