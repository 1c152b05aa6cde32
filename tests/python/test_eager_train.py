"""Optimizers in eager mode against real 2.6.2 (eager_train.json, by eager_train_cases.py), and what they refuse."""
import ctypes
import gc
import json
import os
import unittest

import numpy as np
import paddle
import paddle.nn as nn
from eager_train_cases import CASES, Net, numbers, train

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "eager_train.json")) as _file:
    RECORDED = json.load(_file)


class Trained(unittest.TestCase):
    def test_cases(self):
        self.assertEqual(sorted(CASES), sorted(RECORDED))
        for name, wanted in RECORDED.items():
            with self.subTest(name):
                found = CASES[name]()
                self.assertEqual(sorted(wanted), sorted(found))
                for key in wanted:
                    if isinstance(wanted[key][0], list) and name == "clipped_by_hand":
                        for a, b in zip(wanted[key], found[key]):
                            np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6, err_msg=key)
                    else:
                        np.testing.assert_allclose(found[key], wanted[key], rtol=2e-4, atol=2e-6, err_msg=key)


def stepped(optimizer, net):
    net([[1, 2], [3, 4]]).sum().backward()
    optimizer.step()
    optimizer.clear_grad()


class State(unittest.TestCase):
    def make(self):
        paddle.utils.unique_name.switch()  # names begin again, as in a new process
        net = Net(True)
        return net, paddle.optimizer.Adam(0.1, parameters=net.parameters())

    def test_state_is_taken_up(self):
        net, optimizer = self.make()
        self.assertEqual(optimizer.state_dict(), {})
        for _ in range(2):
            stepped(optimizer, net)
        state = {key: value.numpy() for key, value in optimizer.state_dict().items()}
        other, again = self.make()
        other.set_state_dict(net.state_dict())
        again.set_state_dict(state)
        for _ in range(2):
            stepped(optimizer, net)
            stepped(again, other)
        for a, b in zip(net.parameters(), other.parameters()):
            np.testing.assert_array_equal(a.numpy(), b.numpy())

    def test_state_is_live(self):
        net, optimizer = self.make()
        stepped(optimizer, net)
        moment = optimizer.state_dict()["embedding_0.w_0_moment1_0"]
        before = moment.numpy()
        stepped(optimizer, net)
        self.assertTrue((moment.numpy() != before).any())
        self.assertTrue(moment.persistable and moment.stop_gradient)

    def test_names_of_another_model(self):
        net, optimizer = self.make()
        stepped(optimizer, net)
        other = Net(True)  # names continue: embedding_1, ..
        foreign = paddle.optimizer.Adam(0.1, parameters=other.parameters())
        foreign.set_state_dict(optimizer.state_dict())
        with self.assertRaisesRegex(AssertionError, "_moment1_0 should in state dict"):
            stepped(foreign, other)
        stepped(optimizer, net)
        with self.assertRaisesRegex(AssertionError, "optimizer Tensor .*moment1_0 not found"):
            optimizer.set_state_dict({})

    def test_wrong_shape(self):
        net, optimizer = self.make()
        stepped(optimizer, net)
        state = optimizer.state_dict()
        state["linear_0.b_0_moment1_0"] = np.zeros([7], "float32")
        with self.assertRaisesRegex(ValueError, r"state of linear_0.b_0_moment1_0 must be float32 \[3\], but is float32 \[7\]"):
            optimizer.set_state_dict(state)

    def test_schedule(self):
        schedule = paddle.optimizer.lr.StepDecay(0.1, step_size=1)
        optimizer = paddle.optimizer.SGD(schedule, parameters=Net(True).parameters())
        schedule.step()
        state = optimizer.state_dict()
        self.assertEqual(state["LR_Scheduler"]["last_epoch"], 1)
        schedule.step()
        optimizer.set_state_dict(state)
        self.assertAlmostEqual(optimizer.get_lr(), 0.01)
        optimizer.set_lr_scheduler(paddle.optimizer.lr.ExponentialDecay(0.5, gamma=0.9))
        self.assertEqual(optimizer.get_lr(), 0.5)
        with self.assertRaises(TypeError):
            optimizer.set_lr_scheduler(0.1)


class Refused(unittest.TestCase):
    def test_arguments(self):
        net = Net(True)
        with self.assertRaises(AttributeError):
            paddle.optimizer.SGD(0.1)
        with self.assertRaises(TypeError):
            paddle.optimizer.SGD(0.1, parameters=net.first.weight)
        with self.assertRaises(TypeError):
            paddle.optimizer.SGD(0.1, parameters={"params": net.parameters()})
        with self.assertRaisesRegex(ValueError, "more than one parameter group"):
            paddle.optimizer.SGD(0.1, parameters=[{"params": net.parameters()}, {"params": net.first.parameters()}])
        with self.assertRaisesRegex(TypeError, "must be Tensors, but received <class 'int'>"):
            paddle.optimizer.SGD(0.1, parameters=[1]).step()
        with self.assertRaisesRegex(AssertionError, "params should be set"):
            paddle.optimizer.SGD(0.1, parameters=[{"learning_rate": 1.0}])

    def test_two_of_one_name(self):
        nets = []
        for _ in range(2):
            with paddle.utils.unique_name.guard():
                nets.append(nn.Linear(2, 1))
        optimizer = paddle.optimizer.SGD(0.1, parameters=nets[0].parameters() + nets[1].parameters())
        with self.assertRaisesRegex(ValueError, "two parameters have the name linear_0.w_0"):
            optimizer.step()

    def test_gradients_that_do_not_fit(self):
        layer = nn.Linear(2, 1)
        optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        layer.weight._grad = paddle.ones([1, 2])
        with self.assertRaisesRegex(ValueError, r"the gradient of parameter .*w_0 is float32 \[1, 2\]; it must be float32 \[2, 1\]"):
            optimizer.step()

    def test_decay_of_sparse_adam(self):
        with self.assertRaisesRegex(RuntimeError, "weight_decay with sparse"):
            train(lambda net: paddle.optimizer.Adam(0.1, parameters=net.parameters(), weight_decay=0.1))


def sanitized():
    with open("/proc/self/maps") as maps:
        return "libasan" in maps.read()


class Memory(unittest.TestCase):
    @unittest.skipIf(sanitized(), "ASan keeps freed memory")
    def test_a_long_loop_does_not_grow(self):
        """Ten thousand steps: all blocks of memory come back."""
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        table = nn.Embedding(50, 8, sparse=True)
        optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters() + table.parameters(),
                                          grad_clip=nn.ClipGradByGlobalNorm(1.0))
        ids = np.random.RandomState(1).randint(0, 50, (100, 4)).astype("int64")

        def loop(steps):
            for i in range(steps):
                loss = net(table(paddle.to_tensor(ids[i % 100]))).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        first = loop(1000)
        self.assertLess(loop(9000) - first, 1 << 20)


class Moved(unittest.TestCase):
    def test_parameters_may_move(self):
        """What a parameter becomes or is set to is what the next step moves."""
        layer = nn.Linear(2, 1)
        optimizer = paddle.optimizer.SGD(1.0, parameters=layer.parameters())
        for value in (numbers(1, 2, 1), numbers(2, 2, 1)):
            layer.weight.set_value(value)
            layer(paddle.ones([1, 2])).sum().backward()
            optimizer.step()
            np.testing.assert_allclose(layer.weight.numpy(), value - 1, atol=1e-6)
            optimizer.clear_grad()
        layer.weight._become(paddle.to_tensor(numbers(3, 2, 1)))
        layer.weight.stop_gradient = False
        layer(paddle.ones([1, 2])).sum().backward()
        optimizer.step()
        np.testing.assert_allclose(layer.weight.numpy(), numbers(3, 2, 1) - 1, atol=1e-6)

    def test_lagging_rows_are_seen(self):
        """Adam moves rows that are not looked up, too; they are up to date whenever somebody looks, and when the optimizer
        has gone."""
        values = []
        for look in (True, False):
            table = nn.Embedding(20, 3, sparse=True)
            table.weight.set_value(numbers(5, 20, 3))
            optimizer = paddle.optimizer.Adam(0.1, parameters=table.parameters())
            for i in range(30):
                table(paddle.to_tensor([i % 20])).sum().backward()
                optimizer.step()
                optimizer.clear_grad()
                if look:
                    table.weight.numpy()
            del optimizer
            gc.collect()
            values.append(table.weight.numpy())
        np.testing.assert_allclose(values[0], values[1], atol=1e-6)

    def test_a_look_at_the_form_moves_no_row(self):
        """Shape, type and the lookup itself leave deferred rows as they are; only reading values flushes all of them."""
        table = nn.Embedding(20, 3, sparse=True)
        table.weight.set_value(numbers(5, 20, 3))
        optimizer = paddle.optimizer.Adam(0.1, parameters=table.parameters(), lazy_mode=False)
        memory = (ctypes.c_float * 60).from_address(table.weight.data_ptr())

        def step(row):
            table(paddle.to_tensor([row])).sum().backward()
            optimizer.step()
            optimizer.clear_grad()

        step(7)
        table.weight.numpy()
        for row in (1, 2, 1, 2):
            before = memory[7 * 3]  # row 7 has a moment, and is not looked up
            step(row)
            weight = table.weight
            self.assertEqual((list(weight.shape), weight.dtype, weight.ndim, weight.size), ([20, 3], paddle.float32, 2, 60))
            paddle.nn.functional.embedding(paddle.to_tensor([row]), weight, sparse=True)
            self.assertEqual(memory[7 * 3], before)
        self.assertLess(table.weight.numpy()[7, 0], before - 0.01)
        self.assertEqual(memory[7 * 3], table.weight.numpy()[7, 0])


if __name__ == "__main__":
    unittest.main()
