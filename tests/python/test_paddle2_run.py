"""paddle 2.x: training, files, loaders, schedules, metrics, roles, strategies, names that do not exist."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import paddle
import paddle.nn as nn
from paddle2_help import OPTIMIZERS, Net, click_batches, click_model, fresh, train, values
from paddle.distributed import fleet

#: (losses of batches 0, 1, 5 and 11, AUC) of Paddle 2.6.2: python paddle2_help.py
RECORDED = {
    'SGD': (['0.68440', '0.50190', '0.64270', '0.41561'], 0.579970),
    'Momentum': (['0.68440', '0.56679', '0.65588', '0.38832'], 0.584127),
    'Adam': (['0.68440', '0.51245', '0.73876', '0.51536'], 0.546863),
    'Adam lazy': (['0.68440', '0.51245', '0.73446', '0.53423'], 0.541194),
    'Adam decay': (['0.68440', '0.51927', '0.69670', '0.46649'], 0.569463),
    'Adam L1': (['0.68440', '0.51973', '0.66373', '0.44637'], 0.560695),
    'Lamb': (['0.68440', '0.52348', '0.64277', '0.47877'], 0.599395),
    'Adagrad': (['0.68440', '0.54387', '0.70310', '0.41991'], 0.584807),
    'RMSProp': (['0.68440', '0.53805', '0.68211', '0.43254'], 0.593500),
    'clip': (['0.68440', '0.57978', '0.65260', '0.43501'], 0.608088),
}


class Training(unittest.TestCase):
    def test_as_paddle(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                losses, auc = train(make)
                want, want_auc = RECORDED[name]
                np.testing.assert_allclose([losses[i] for i in (0, 1, 5, -1)], [float(v) for v in want], atol=2e-5)
                self.assertAlmostEqual(auc, want_auc, 5)

    def test_seed(self):
        draw = lambda seed: values(lambda: paddle.rand([4]), seed=seed)  # noqa: E731
        np.testing.assert_array_equal(draw(3), draw(3))
        self.assertTrue((draw(3) != draw(4)).any())

    def test_schedule(self):
        with fresh() as (main, startup):
            x = paddle.static.data("x", [None, 1])
            w = paddle.create_parameter([1], "float32", name="w", default_initializer=nn.initializer.Constant(1.0))
            schedule = paddle.optimizer.lr.PiecewiseDecay([1, 2], [0.5, 0.25, 0.125])
            optimizer = paddle.optimizer.SGD(schedule)
            optimizer.minimize(paddle.mean(x * w))
            exe = paddle.static.Executor()
            exe.run(startup)
            seen = []
            for _ in range(3):
                seen.append(float(exe.run(main, feed={"x": np.ones((2, 1), "float32")}, fetch_list=[w])[0]))
                schedule.step()
            np.testing.assert_allclose(seen, [0.5, 0.25, 0.125])
            self.assertEqual(optimizer.get_lr(), 0.125)
            self.assertIn("LR_Scheduler", optimizer.state_dict())

    def test_set_lr_and_state(self):
        with fresh() as (main, startup):
            optimizer = paddle.optimizer.Adam(0.1)
            _, loss, _, _, _ = click_model(optimizer)
            exe = paddle.static.Executor()
            exe.run(startup)
            feed = next(click_batches(1))
            exe.run(main, feed=feed, fetch_list=[loss])
            self.assertEqual(optimizer.get_lr(), 0.1)
            state = optimizer.state_dict()
            self.assertAlmostEqual(float(state["table_beta1_pow_acc_0"][0]), 0.81, 5)
            optimizer.set_lr(0.0)
            before = paddle.static.global_scope().find_var("table").get_tensor().numpy()
            exe.run(main, feed=feed, fetch_list=[loss])
            np.testing.assert_array_equal(before, paddle.static.global_scope().find_var("table").get_tensor().numpy())
            optimizer.set_state_dict(state)
            self.assertAlmostEqual(float(optimizer.state_dict()["table_beta1_pow_acc_0"][0]), 0.81, 5)

    def test_schedules(self):
        lr = paddle.optimizer.lr

        def rates(schedule, n=4):
            out = []
            for _ in range(n):
                out.append(schedule())
                schedule.step()
            return out

        for schedule, want in (
                (lr.ExponentialDecay(1.0, 0.5), [1, 0.5, 0.25, 0.125]), (lr.NaturalExpDecay(1.0, 1.0), [1, 0.367879, 0.135335, 0.049787]),
                (lr.InverseTimeDecay(1.0, 1.0), [1, 0.5, 1 / 3, 0.25]), (lr.PolynomialDecay(1.0, 2, 0.5), [1, 0.75, 0.5, 0.5]),
                (lr.StepDecay(1.0, 2, 0.1), [1, 1, 0.1, 0.1]), (lr.MultiStepDecay(1.0, [1, 3], 0.1), [1, 0.1, 0.1, 0.01]),
                (lr.LambdaDecay(2.0, lambda e: 1.0 / (1 + e)), [2, 1, 2 / 3, 0.5]),
                (lr.LinearWarmup(1.0, 2, 0.0, 1.0), [0, 0.5, 1, 1]), (lr.CosineAnnealingDecay(1.0, 2), [1, 0.5, 0, 0.5]),
                (lr.NoamDecay(4, 2, 1.0), [0, 0.176777, 0.353553, 0.288675])):
            np.testing.assert_allclose(rates(schedule), want, atol=1e-6, err_msg=type(schedule).__name__)


class Layers(unittest.TestCase):
    def test_what_a_layer_holds(self):
        with fresh():
            net = Net()
            self.assertEqual([n for n, _ in net.named_parameters()],
                             ["table.weight", "first.weight", "first.bias", "last.weight", "last.bias"])
            self.assertEqual([p.name for p in net.parameters()],
                             ["table", "linear_0.w_0", "linear_0.b_0", "linear_1.w_0", "linear_1.b_0"])
            self.assertEqual(len(net.sublayers()), 4)
            self.assertEqual(net.full_name(), "net_0")
            net.eval()
            self.assertFalse(net.first.training)
            net.train()
            self.assertTrue(net.first.training)
            net.extra = nn.Linear(1, 1)
            self.assertIn("extra", dict(net.named_children()))
            del net.extra
            with self.assertRaises(AttributeError):
                net.extra
            seen = []
            net.apply(lambda layer: seen.append(type(layer).__name__))
            self.assertEqual(seen, ["Embedding", "Linear", "ReLU", "Linear", "Net"])
            self.assertIn("(table): Embedding(50, 4, sparse=True)", repr(net))

    def test_containers(self):
        with fresh():
            layers = nn.LayerList([nn.Linear(2, 2) for _ in range(2)])
            layers.append(nn.ReLU())
            layers.insert(0, nn.Identity())
            self.assertEqual((len(layers), type(layers[0]).__name__, type(layers[-1]).__name__), (4, "Identity", "ReLU"))
            chain = nn.Sequential(("a", nn.Linear(2, 3)), ("b", nn.Tanh()))
            self.assertEqual(type(chain["b"]).__name__, "Tanh")
            words = nn.LayerDict({"k": nn.Sigmoid()})
            self.assertEqual((list(words.keys()), "k" in words), (["k"], True))
            numbers = nn.ParameterList([paddle.create_parameter([1], "float32")])
            self.assertEqual(len(numbers.parameters()), 1)

    def test_dropout_of_inference(self):
        x = np.ones((2, 3), "float32")

        def build():
            layer = nn.Dropout(0.5)
            layer.eval()
            return layer(paddle.static.data("x", [None, 3]))

        np.testing.assert_array_equal(values(build, {"x": x}), x)

    def test_shared_parameter(self):
        with fresh() as (main, startup):
            ids = paddle.static.data("ids", [None, 1], "int64")
            for _ in range(3):
                paddle.static.nn.embedding(ids, [10, 4], param_attr=paddle.ParamAttr(name="shared"))
            self.assertEqual([p.name for p in main.all_parameters()], ["shared"])
            self.assertEqual(len(startup.global_block().ops), 1)

    def test_wrong_arguments(self):
        with fresh():
            x = paddle.static.data("x", [None, 3])
            for call, kind in ((lambda: paddle.concat(3), TypeError), (lambda: paddle.mean([1]), TypeError),
                               (lambda: paddle.transpose(x, [0]), ValueError), (lambda: nn.Embedding(0, 4), ValueError),
                               (lambda: nn.functional.dropout(x, 2.0), ValueError), (lambda: x[:, 5], IndexError),
                               (lambda: paddle.reshape(x, [-1, -1]), AssertionError), (lambda: paddle.matmul(x, paddle.ones([4, 2])), ValueError),
                               (lambda: paddle.optimizer.Adam("a"), TypeError), (lambda: paddle.optimizer.Adam(beta1=2.0), ValueError),
                               (lambda: paddle.split(x, 2, axis=1), AssertionError),
                               (lambda: nn.functional.mse_loss(x, x, "x"), ValueError)):
                with self.assertRaises(kind):
                    call()


class Files(unittest.TestCase):
    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder, fresh() as (main, startup):
            feeds, loss, auc, _, _ = click_model(paddle.optimizer.Adam(0.05))
            exe = paddle.static.Executor()
            exe.run(startup)
            batch = next(click_batches(1))
            for feed in click_batches(3):
                exe.run(main, feed=feed)
            prefix = os.path.join(folder, "deep", "m")
            paddle.static.save(main, prefix)
            self.assertEqual(sorted(os.listdir(os.path.dirname(prefix))), ["m.pdmodel", "m.pdopt", "m.pdparams", "m.skiff_manifest.yaml"])
            scope = paddle.static.global_scope()
            table = scope.find_var("table").get_tensor().numpy()
            exe.run(startup)
            self.assertTrue((table != scope.find_var("table").get_tensor().numpy()).any())
            paddle.static.load(main, prefix, exe)
            np.testing.assert_array_equal(table, scope.find_var("table").get_tensor().numpy())
            state = paddle.static.load_program_state(prefix)
            np.testing.assert_array_equal(state["table"], table)
            self.assertIn("table_moment1_0", state)
            exe.run(startup)
            paddle.static.set_program_state(main, state)
            np.testing.assert_array_equal(table, scope.find_var("table").get_tensor().numpy())
            with self.assertRaises(AssertionError):
                paddle.static.set_program_state(main, {"table": table[:3]})
            test = main.clone(for_test=True)
            want = exe.run(test, feed=batch, fetch_list=[loss])[0]
            paddle.static.save_inference_model(os.path.join(folder, "inf"), feeds, [loss], exe)
            program, names, targets = paddle.static.load_inference_model(os.path.join(folder, "inf"), exe)
            self.assertEqual(names, [v.name for v in feeds])
            got = exe.run(program, feed=batch, fetch_list=targets)[0]
            np.testing.assert_allclose(got, want, rtol=1e-6)
            self.assertEqual(program.generation, 2)
            paddle.save({"table": table}, os.path.join(folder, "t.pdparams"))
            np.testing.assert_array_equal(np.asarray(paddle.load(os.path.join(folder, "t.pdparams"))["table"]), table)
            names = ["table"]
            paddle.static.save_vars(exe, os.path.join(folder, "v"), main, vars=[main.global_block().var(n) for n in names])
            exe.run(startup)
            paddle.static.load_vars(exe, os.path.join(folder, "v"), main, vars=[main.global_block().var(n) for n in names])
            np.testing.assert_array_equal(table, scope.find_var("table").get_tensor().numpy())
            again = paddle.static.deserialize_program(paddle.static.serialize_program(feeds, [loss]))
            self.assertIn("lookup_table_v2", [op.type for op in again.global_block().ops])


class Rows(paddle.io.IterableDataset):
    def __iter__(self):
        for i in range(7):
            yield [np.array([i], "int64"), np.array([i / 2.0], "float32")]


class Numbers(paddle.io.Dataset):
    def __getitem__(self, i):
        return {"a": i, "b": np.array([i, i], "float32")}

    def __len__(self):
        return 5


class Loaders(unittest.TestCase):
    def test_iterable(self):
        for workers in (0, 1):
            loader = paddle.io.DataLoader(Rows(), batch_size=3, drop_last=True, num_workers=workers)
            batches = list(loader())
            self.assertEqual(len(batches), 2)
            np.testing.assert_array_equal(batches[1][0], [[3], [4], [5]])
            np.testing.assert_array_equal(batches[1][1], [[1.5], [2.0], [2.5]])
        both = list(paddle.io.DataLoader(Rows(), batch_size=3, drop_last=True, num_workers=2)())
        self.assertEqual([np.array(b[0]).ravel().tolist() for b in both], [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]])  # as in Paddle
        for _ in paddle.io.DataLoader(Rows(), batch_size=1, num_workers=1):
            break  # the reading thread ends too

    def test_feeds(self):
        with fresh():
            a, b = paddle.static.data("a", [None, 1], "int64"), paddle.static.data("b", [None, 1])
            loader = paddle.io.DataLoader(Rows(), feed_list=[a, b], batch_size=4, return_list=False)
            self.assertEqual([[sorted(f) for f in feeds] for feeds in loader], [[["a", "b"]], [["a", "b"]]])

    def test_errors_of_readers(self):
        class Broken(paddle.io.IterableDataset):
            def __iter__(self):
                yield [1]
                raise KeyError("here")

        with self.assertRaises(KeyError):
            list(paddle.io.DataLoader(Broken(), batch_size=1, num_workers=1)())

    def test_map_style(self):
        batches = list(paddle.io.DataLoader(Numbers(), batch_size=2))
        self.assertEqual([np.array(b["a"]).tolist() for b in batches], [[0, 1], [2, 3], [4]])
        self.assertEqual(len(paddle.io.DataLoader(Numbers(), batch_size=2)), 3)
        order = [i for b in paddle.io.DataLoader(Numbers(), batch_size=2, shuffle=True) for i in np.array(b["a"]).tolist()]
        self.assertEqual(sorted(order), list(range(5)))

    def test_samplers(self):
        self.assertEqual(list(paddle.io.BatchSampler(Numbers(), batch_size=2, drop_last=True)), [[0, 1], [2, 3]])
        parts = [list(paddle.io.DistributedBatchSampler(Numbers(), 2, 2, rank)) for rank in (0, 1)]
        self.assertEqual(parts, [[[0, 1], [4]], [[2, 3], [0]]])
        split = paddle.io.random_split(Numbers(), [2, 3])
        self.assertEqual([len(s) for s in split], [2, 3])
        joined = paddle.io.ConcatDataset([paddle.io.Subset(Numbers(), [4]), Numbers()])
        self.assertEqual((len(joined), joined[0]["a"], joined[1]["a"]), (6, 4, 0))


class Metrics(unittest.TestCase):
    def test_auc(self):
        metric = paddle.metric.Auc()
        metric.update(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]]), np.array([[0], [1], [1], [0]]))
        self.assertEqual(metric.accumulate(), 1.0)
        metric.update(np.array([[0.1, 0.9]]), np.array([[0]]))
        self.assertAlmostEqual(metric.accumulate(), 4.0 / 6, 6)
        metric.reset()
        self.assertEqual(metric.name(), "auc")

    def test_counts(self):
        accuracy = paddle.metric.Accuracy()
        correct = accuracy.compute(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[1], [1]]))
        self.assertEqual((accuracy.update(correct), accuracy.accumulate()), (0.5, 0.5))
        precision, recall = paddle.metric.Precision(), paddle.metric.Recall()
        for metric in (precision, recall):
            metric.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
        self.assertEqual((precision.accumulate(), recall.accumulate()), (0.5, 0.5))


class Fleets(unittest.TestCase):
    def tearDown(self):
        for name in ("TRAINING_ROLE", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID"):
            os.environ.pop(name, None)

    def test_strategy(self):
        strategy = fleet.DistributedStrategy()
        strategy.a_sync = False
        self.assertEqual(strategy._native(2), {"mode": "sync", "threads": 2})
        strategy.a_sync = True
        self.assertEqual(strategy._native(1)["mode"], "async")
        configs = strategy.a_sync_configs
        configs["k_steps"] = 5
        strategy.a_sync_configs = configs
        self.assertEqual(strategy._native(1), {"mode": "geo", "threads": 1, "geo_steps": 5})
        with self.assertRaisesRegex(ValueError, "k_step;"):
            strategy.a_sync_configs = {"k_step": 5}
        with self.assertRaisesRegex(TypeError, "a_sync"):
            strategy.async_ = True

    def test_alone(self):
        fleet.init()
        self.assertEqual((fleet.is_worker(), fleet.is_server(), fleet.worker_num(), fleet.worker_index()), (True, False, 1, 0))
        np.testing.assert_array_equal(fleet.util.all_reduce(np.array([1, 2])), [1, 2])
        fleet.barrier_worker()
        self.assertEqual(fleet.metrics.auc(np.array([[0, 1]]), np.array([[1, 0]])), 1.0)
        self.assertEqual(fleet.metrics.auc(np.array([[0, 0]]), np.array([[1, 0]])), 0.5)
        self.assertEqual(fleet.metrics.acc(np.array([3.0]), np.array([4.0])), 0.75)
        with fresh() as (main, startup):
            optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.5), fleet.DistributedStrategy())
            _, loss, _, _, _ = click_model(optimizer)
            exe = paddle.static.Executor()
            exe.run(startup)
            fleet.init_worker()
            self.assertAlmostEqual(optimizer.get_lr(), 0.5)
            self.assertIn("stat_var_names", main._fleet_opt)
            exe.run(main, feed=next(click_batches(1)), fetch_list=[loss])
            fleet.stop_worker()

    def test_files(self):
        role = fleet.UserDefinedRoleMaker(current_id=1, role=fleet.Role.WORKER, worker_num=3,
                                          server_endpoints=["127.0.0.1:1"])
        fleet.init(role)
        self.assertEqual(fleet.util.get_file_shard(list("abcdefgh")), list("def"))
        self.assertEqual((fleet.worker_index(), fleet.server_num(), fleet.server_endpoints(True)), (1, 1, "127.0.0.1:1"))
        with self.assertRaises(TypeError):
            fleet.util.get_file_shard("a")
        with self.assertRaisesRegex(ValueError, "current_id is 9"):
            fleet.init(fleet.UserDefinedRoleMaker(current_id=9, worker_num=2))

    def test_environment(self):
        os.environ.update(TRAINING_ROLE="TRAINER", PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:7,127.0.0.1:8",
                          PADDLE_TRAINERS_NUM="4", PADDLE_TRAINER_ID="2")
        fleet.init()
        self.assertEqual((fleet.worker_num(), fleet.worker_index(), fleet.server_num()), (4, 2, 2))
        self.assertEqual((paddle.distributed.get_rank(), paddle.distributed.get_world_size()), (2, 4))

    def test_datasets(self):
        with tempfile.TemporaryDirectory() as folder, fresh() as (main, startup):
            path = os.path.join(folder, "part")
            with open(path, "w") as out:
                for feed in click_batches(4, 8):
                    for i in range(8):
                        out.write(" ".join("1 %d" % feed["s%d" % k][i, 0] for k in range(3)) + " 2 %f %f 1 %d\n" %
                                  (feed["dense"][i, 0], feed["dense"][i, 1], feed["label"][i, 0]))
            feeds, loss, auc, _, states = click_model(paddle.optimizer.SGD(0.5))
            exe = paddle.static.Executor()
            exe.run(startup)
            for dataset in (paddle.distributed.QueueDataset(), paddle.distributed.InMemoryDataset()):
                dataset.init(batch_size=8, thread_num=1, use_var=feeds, pipe_command="cat")
                dataset.set_filelist([path])
                if hasattr(dataset, "load_into_memory"):
                    dataset.update_settings(parse_ins_id=False)
                    dataset.load_into_memory()
                    self.assertEqual(dataset.get_memory_data_size(), 32)
                    dataset.local_shuffle()
                exe.train_from_dataset(main, dataset, fetch_list=[loss], fetch_info=["loss"], print_period=100)
            held = [paddle.static.global_scope().find_var(s.name).get_tensor().numpy().sum() for s in states[2:]]
            self.assertEqual(sum(held), 64)

    def test_idle_threads(self):
        """More threads than batches: states of an AUC without a window have another size where no batch came."""
        with tempfile.TemporaryDirectory() as folder, fresh() as (main, startup):
            path = os.path.join(folder, "part")
            with open(path, "w") as out:
                out.writelines("2 %f 0.5 1 %d\n" % (i / 8.0, i % 2) for i in range(6))
            x = paddle.static.data("x", [-1, 2])
            label = paddle.static.data("label", [-1, 1], "int64")
            guess = paddle.nn.functional.sigmoid(paddle.static.nn.fc(x, 1))
            _, _, states = paddle.static.auc(paddle.concat([1 - guess, guess], 1), label, slide_steps=0)
            bundle = paddle.static.ctr_metric_bundle(guess, paddle.cast(label, "float32"))
            paddle.optimizer.SGD(0.1).minimize(paddle.mean(paddle.square(guess - paddle.cast(label, "float32"))))
            exe = paddle.static.Executor()
            exe.run(startup)
            dataset = paddle.distributed.InMemoryDataset()
            dataset.init(batch_size=2, thread_num=8, use_var=[x, label], pipe_command="cat")
            dataset.set_filelist([path])
            dataset.load_into_memory()
            for epoch in (1, 2):
                exe.train_from_dataset(main, dataset)
                held = [paddle.static.global_scope().find_var(s.name).get_tensor().numpy().sum() for s in states]
                self.assertEqual(held, [3 * epoch] * 4)
                self.assertEqual(paddle.static.global_scope().find_var(bundle[-1].name).get_tensor().numpy().sum(), 6 * epoch)


class Names(unittest.TestCase):
    def test_missing(self):
        for where, name, words in ((paddle, "matmull", "nearest: matmul"), (nn, "GRUU", "Skiff has no such name"),
                                   (nn.functional, "relu_6", "relu6"), (paddle.static, "Printt", "nearest: Print"),
                                   (paddle.optimizer, "LBFGSS", "nearest: LBFGS"), (paddle.distributed, "all_gatherr", "nearest: all_gather"),
                                   (paddle.distributed, "shard_tensor", "fleet")):
            with self.assertRaisesRegex(AttributeError, words):
                getattr(where, name)
        with self.assertRaises(ImportError):
            from paddle.nn import CTCLoss  # noqa: F401

    def test_modes(self):
        code = ("import paddle\nprint(paddle.in_dynamic_mode(), type(paddle.ones([2])).__name__)\npaddle.enable_static()\n"
                "print(paddle.in_dynamic_mode(), type(paddle.ones([2])).__name__)\npaddle.disable_static()\n"
                "print(paddle.in_dynamic_mode(), paddle.ones([2]).numpy().tolist())\n")
        out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True).stdout
        self.assertEqual(out.split("\n"), ["True Tensor", "False Variable", "True [1.0, 1.0]", ""])

    def test_variables_have_no_value(self):
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [2])
            with self.assertRaisesRegex(RuntimeError, "Variable x: item is for Tensors of eager mode.*Executor.run"):
                x.item()
            self.assertTrue(x.detach().stop_gradient)
            self.assertEqual((x.element_size(), x.cpu().shape), (4, (2,)))

    def test_places(self):
        self.assertEqual(str(paddle.set_device("cpu")), "CPUPlace")
        self.assertEqual(paddle.get_device(), "cpu")
        with self.assertRaisesRegex(ValueError, "use 'cpu'"):
            paddle.set_device("gpu")
        self.assertFalse(paddle.is_compiled_with_cuda() or paddle.is_compiled_with_custom_device("npu"))
        self.assertIs(paddle.float32, paddle.base.core.VarDesc.VarType.FP32)
        self.assertEqual(paddle.get_default_dtype(), "float32")

    def test_data_generator_starts_fast(self):
        code = ("import sys, paddle.distributed.fleet as fleet\nfleet.MultiSlotDataGenerator\n"
                "assert 'numpy' not in sys.modules and 'skiff._native' not in sys.modules\n")
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    unittest.main()
