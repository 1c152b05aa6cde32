"""Run by real Paddle 2.6.2 with numpy 1: writes the eager_* files to the folder given, and prints what one more step gives.
tests/python/test_eager_save.py reads them."""
import sys

import numpy as np
import paddle


def numbers(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


out = sys.argv[1]
layer = paddle.nn.Linear(2, 1)
layer.weight.set_value(numbers(1, 2, 1))
layer.bias.set_value(numbers(2, 1))
schedule = paddle.optimizer.lr.StepDecay(0.1, step_size=2)
adam = paddle.optimizer.Adam(schedule, parameters=layer.parameters())
for i in range(2):
    layer(paddle.to_tensor(numbers(3 + i, 3, 2))).sum().backward()
    adam.step()
    adam.clear_grad()
    schedule.step()
paddle.save(layer.state_dict(), out + "/eager_layer.pdparams")
paddle.save(adam.state_dict(), out + "/eager_adam.pdopt")
paddle.save({"epoch": 3, "best": 0.75, "names": ["a", "b"], "scores": paddle.to_tensor([1.0, 2.5]),
             "nested": {"ids": [paddle.to_tensor([1, 2]), np.arange(3)], "t": (1, None, True)}}, out + "/eager_object.pd")
paddle.save(paddle.to_tensor([[1.5, 2.0]]), out + "/eager_tensor.pd", protocol=2)
layer(paddle.to_tensor(numbers(9, 3, 2))).sum().backward()
adam.step()
print(layer.weight.numpy().tolist(), layer.bias.numpy().tolist(), adam.get_lr())
