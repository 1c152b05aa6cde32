"""paddle.distributed between processes that spawn starts. Expected values are arithmetic, or recorded from real 2.6.2 in the
acceptance suite (tests/acceptance/suite/collective), which this does not repeat."""
import os
import signal
import sys
import tempfile
import time
import unittest
import warnings

import numpy as np

import paddle
import paddle.distributed as dist
import paddle.nn as nn


def told(function, *args, **keys):
    """(name of the exception, its text) of a call that must fail."""
    try:
        function(*args, **keys)
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing", "came"


def tensor(values, dtype="float32"):
    return paddle.to_tensor(np.array(values, dtype=dtype))


def calls():
    dist.init_parallel_env()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    out = {}
    for dtype in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"):
        x = tensor([rank + 1, 2]).astype(dtype)
        dist.all_reduce(x)
        out[dtype] = x.astype("float32").numpy().tolist()
    x = tensor([rank == 1, False], "bool")
    dist.all_reduce(x)
    out["bool"] = x.numpy().tolist()
    x = tensor([rank + 1.0])
    dist.reduce(x, dst=2, op=dist.ReduceOp.PROD)
    out["reduce"] = x.numpy().tolist()
    given = [tensor([0.0]) for _ in range(ranks)]
    dist.all_gather(given, tensor([rank * 1.0]))
    out["into given tensors"] = [g.item() for g in given]
    parts = tensor(np.zeros([ranks]))
    dist.stream.all_gather(parts, tensor(rank))
    out["into one tensor"] = parts.numpy().tolist()
    x = tensor(np.zeros([2]))
    dist.stream.scatter(x, tensor(np.arange(2 * ranks)) if rank == 0 else None, src=0)
    out["scatter of one tensor"] = x.numpy().tolist()
    sizes = [1, 2, 0]
    got = tensor(np.zeros([sizes[rank] * ranks, 2]))
    dist.alltoall_single(tensor(np.full([3, 2], rank)), got, sizes, [sizes[rank]] * ranks)
    out["uneven rows"] = got.numpy()[:, 0].tolist()
    x = tensor([float(rank)])
    task = dist.broadcast(x, src=1, sync_op=False)
    task.wait()
    out["later"] = [x.item(), task.is_completed(), task.wait()]
    x = tensor([rank + 1.0])
    task = dist.all_reduce(x, sync_op=False)
    x = x + 0 if rank == 5 else x
    dist.wait(x)
    out["wait(tensor)"] = x.item()
    x = tensor([rank + 1.0])
    dist.all_reduce(x, sync_op=False)  # nobody holds the task
    out["dropped"] = x.item()
    out["leaf"] = changed_in_place()
    return out


def changed_in_place():
    """A value that backward needs was overwritten: an error, not a wrong gradient."""
    x = tensor([2.0])
    x.stop_gradient = False
    y = x.exp()
    dist.all_reduce(y)
    return told(y.backward)[1]


def groups():
    dist.init_parallel_env()
    rank = dist.get_rank()
    out = {}
    both, alone, again = dist.new_group([2, 0]), dist.new_group([1]), dist.new_group()
    out["members"] = [both.rank, alone.rank, again.rank, both.ranks, again.nranks, dist.get_world_size(both)]
    x = tensor([rank + 1.0])
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        dist.all_reduce(x, group=both)
    out["sum"] = [x.item(), [str(w.message) for w in heard]]
    task = dist.all_reduce(x, group=both, sync_op=False) if both.is_member() else None
    dist.destroy_process_group(both)
    if task:
        task.wait()
    out["after destroy"] = x.item()
    out["destroyed"] = told(dist.all_reduce, x, group=both) if both.is_member() else None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        out["get_group"] = [dist.get_group(both.id), str(heard[0].message), dist.get_group(0).nranks]
    out["root outside"] = told(dist.broadcast, x, src=0, group=alone) if rank == 1 else None
    out["wrong"] = [told(dist.new_group, [7]), told(dist.new_group, [0], backend="smoke"), told(dist.all_reduce, [1.0]),
                    told(dist.all_reduce, x, op=17), told(dist.all_reduce, x, group=3), told(dist.scatter, x, [x], src=rank)]
    dist.destroy_process_group()
    out["left"] = [dist.is_initialized(), told(dist.barrier)[1]]
    dist.init_parallel_env()
    dist.barrier()
    return out


def objects():
    dist.init_parallel_env()
    rank = dist.get_rank()
    things, out = [], {}
    dist.all_gather_object(things, {"rank": rank, "array": np.arange(rank)})
    out["gathered"] = [thing["array"].tolist() for thing in things]
    things = ["a", (1, 2)] if rank == 1 else [None, None]
    dist.broadcast_object_list(things, src=1)
    mine = []
    dist.scatter_object_list(mine, [10, 20, 30] if rank == 2 else None, src=2)
    out["others"] = [things, mine]
    return out


class Shared(nn.Layer):
    """A sparse table that is used twice, a layer that is not used, a shared weight."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 2, sparse=True)
        self.out = nn.Linear(2, 2, bias_attr=False)
        self.idle = nn.Linear(3, 3)
        self.register_buffer("seen", paddle.zeros([1]))

    def forward(self, ids):
        x = self.table(ids) + self.table(ids)
        return self.out(self.out(x))


def models():
    dist.init_parallel_env()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    paddle.seed(rank + 1)
    layers = Shared()
    layers.seen.set_value(np.array([rank + 5.0], "float32"))
    model = paddle.DataParallel(layers)
    out = {"seen": layers.seen.item(), "keys": list(model.state_dict()), "names": [n for n, _ in model.named_parameters()]}
    alone = Shared()
    alone.set_state_dict(layers.state_dict())
    optimizers = [paddle.optimizer.Adam(0.1, parameters=m.parameters(), lazy_mode=True) for m in (layers, alone)]
    rows = [[0, who] for who in range(ranks)]
    for step in range(3):
        model(paddle.to_tensor([rows[rank]])).sum().backward()
        (alone(paddle.to_tensor(rows)).sum() / ranks).backward()
        out["idle"] = layers.idle.weight.grad is None
        for optimizer in optimizers:
            optimizer.step()
            optimizer.clear_grad()
    out["error"] = max(float(abs(a.numpy() - b.numpy()).max()) for a, b in zip(layers.parameters(), alone.parameters()))
    parts = []
    dist.all_gather(parts, layers.table.weight)
    out["same"] = all((part.numpy() == parts[0].numpy()).all() for part in parts)
    model.eval()
    with paddle.no_grad():
        model(paddle.to_tensor([[0]]))  # of this rank alone: waits for no other rank
    again = paddle.DataParallel(layers)  # the last one made has the parameters
    again(paddle.to_tensor([[rank]])).sum().backward()
    out["nothing to train"] = told(paddle.DataParallel, nn.ReLU())
    return out


RULES = ("Adam", "Momentum", "RMSProp", "Adamax")  # they move every row in every step, so Skiff defers


def one_rank_reads(eager):
    """Rank 0 saves, prints and evaluates between steps; do all ranks still hold the same bits?"""
    dist.init_parallel_env()
    return {rule: (read_eager if eager else read_static)(rule) for rule in RULES}


def read_eager(rule):
    rank, draws = dist.get_rank(), np.random.RandomState(dist.get_rank())
    paddle.seed(3)
    layers = nn.Sequential(nn.Embedding(300, 4, sparse=True), nn.Linear(4, 1))
    model = paddle.DataParallel(layers)
    keys = {"parameters": layers.parameters(), "learning_rate": 0.01}
    optimizer = getattr(paddle.optimizer, rule)(**keys)
    for step in range(60):
        model(paddle.to_tensor(draws.randint(0, 300, [5]))).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        if rank == 0 and step % 7 == 3:
            with tempfile.TemporaryDirectory() as folder:
                paddle.save(layers.state_dict(), folder + "/a.pdparams")
                paddle.save(optimizer.state_dict(), folder + "/a.pdopt")
        if rank == 0 and step % 7 == 5:
            layers[0].weight.numpy()
            with paddle.no_grad():
                layers(paddle.to_tensor(np.arange(0, 300, 3)))
    return same_on_all(layers[0].weight.numpy())


def read_static(rule):
    from paddle.distributed import fleet
    paddle.enable_static()
    rank, draws = dist.get_rank(), np.random.RandomState(dist.get_rank())
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.base.unique_name.guard():
        ids = paddle.static.data("ids", [None, 1], "int64")
        rows = paddle.static.nn.embedding(ids, [300, 4], is_sparse=True, param_attr=paddle.ParamAttr(
            name="table", initializer=nn.initializer.Constant(0.5)))
        loss = paddle.mean(paddle.square(rows))
        test = main.clone(for_test=True)
        fleet.init(is_collective=True)
        fleet.distributed_optimizer(getattr(paddle.optimizer, rule)(0.01)).minimize(loss)
    exe, scope = paddle.static.Executor(), paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        exe.run(startup)
        for step in range(60):
            exe.run(main, feed={"ids": draws.randint(0, 300, [5, 1])}, fetch_list=[loss])
            if rank == 0 and step % 7 == 3:
                with tempfile.TemporaryDirectory() as folder:
                    paddle.static.save(main, folder + "/a")
            if rank == 0 and step % 7 == 5:
                exe.run(test, feed={"ids": np.arange(0, 300, 3).reshape(-1, 1)}, fetch_list=[loss])
                exe.run(test, feed={"ids": np.zeros([1, 1], "int64")}, fetch_list=["table"])
        got = np.array(scope.find_var("table").get_tensor())
    paddle.disable_static()
    return same_on_all(got)


def same_on_all(array):
    parts = []
    dist.all_gather_object(parts, array.tobytes())
    return all(part == parts[0] for part in parts) and len(set(array[:, 0].tolist())) > 100


def hooks_and_two_backwards():
    dist.init_parallel_env()
    rank = dist.get_rank()
    layers = nn.Linear(1, 1, bias_attr=False)
    model = paddle.DataParallel(layers)
    seen = []
    layers.weight.register_hook(lambda g: seen.append(g.item()))
    first, second = model(tensor([[rank + 1.0]])), model(tensor([[10.0 * rank]]))
    first.backward()
    second.backward()
    return {"grad": layers.weight.grad.item(), "seen": seen}


def three_things():
    return calls(), objects(), hooks_and_two_backwards()


def fleets():
    from paddle.distributed import fleet
    fleet.init(is_collective=True)
    rank = fleet.worker_index()
    out = {"sum": fleet.util.all_reduce(np.array([[rank, 2]])).tolist(), "max": fleet.util.all_reduce(rank + 0.5, "max").item(),
           "gathered": fleet.util.all_gather({"rank": rank}), "local": fleet.local_rank(),
           "auc": fleet.metrics.auc(np.array([0, 1 + rank]), np.array([1 + rank, 0])),
           "acc": fleet.metrics.acc(np.array([rank + 1]), np.array([4])),
           "model": type(fleet.distributed_model(nn.Linear(1, 1))).__name__}
    fleet.barrier_worker()
    return out


def others_then(what):
    dist.init_parallel_env()
    rank = dist.get_rank()
    x = tensor([1.0])
    dist.all_reduce(x)
    if rank == 1:
        what(x)
    begun = time.time()
    kind, text = told(dist.all_reduce, x)
    return {"kind": kind, "text": text, "seconds": time.time() - begun}


def raises(_x):
    raise ValueError("bad rows")


def exits(_x):
    sys.exit(3)


def leaves(_x):
    dist.destroy_process_group()
    time.sleep(1)
    os._exit(0)


def gathers(x):
    things = []
    dist.all_gather(things, tensor([1.0, 2.0]))


def is_killed(_x):
    os.kill(os.getpid(), signal.SIGKILL)


def gather_of_lengths():
    dist.init_parallel_env()
    return told(dist.all_gather, [], tensor(np.zeros([dist.get_rank() + 1])))


def in_a_fork():
    dist.init_parallel_env()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, told(dist.barrier)[1].encode())
        os._exit(0)
    os.waitpid(child, 0)
    dist.barrier()
    return os.read(read, 1000).decode()


def interrupted(file, in_backward):
    """Ctrl-C while rank 0 waits for rank 1, which comes when that is over. The timer needs the interpreter's lock."""
    dist.init_parallel_env()
    model = paddle.DataParallel(nn.Linear(1, 1))
    if dist.get_rank() == 1:
        while not os.path.exists(file):
            time.sleep(0.02)
        return told(dist.barrier)
    import threading
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        model(tensor([[1.0]])).backward() if in_backward else dist.barrier()
    except KeyboardInterrupt:
        open(file, "w").close()
        return "KeyboardInterrupt", told(dist.barrier)[1]


def job(function, *args, ranks=3):
    """What the function gave in every rank."""
    context = dist.spawn(function, args=args, nprocs=ranks, join=False)
    while not context.join():
        pass
    return [queue.get() for queue in context.return_queues]


def broken(function, *args, ranks=3):
    """What the ranks that were not the reason gave, and the exit codes."""
    context = dist.spawn(function, args=args, nprocs=ranks, join=False)
    for process in context.processes:
        process.join()
    return [None if queue.empty() else queue.get() for queue in context.return_queues], [p.exitcode for p in context.processes]


class Calls(unittest.TestCase):
    def test_values(self):
        for rank, (out, things, hooks) in enumerate(job(three_things)):
            self.assertEqual(things["gathered"], [[], [0], [0, 1]])
            self.assertEqual(things["others"], [["a", (1, 2)], [[10, 20, 30][rank]]])
            self.assertEqual(hooks["seen"], [rank + 1.0, 10.0 * rank])
            self.assertAlmostEqual(hooks["grad"], 12.0, 5)
            for dtype in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"):
                self.assertEqual(out[dtype], [6, 6], dtype)
            self.assertEqual(out["bool"], [True, False])
            self.assertEqual(out["reduce"], [6.0 if rank == 2 else rank + 1.0])
            self.assertEqual(out["into given tensors"], [0, 1, 2])
            self.assertEqual(out["into one tensor"], [0, 1, 2])
            self.assertEqual(out["scatter of one tensor"], [2 * rank, 2 * rank + 1])
            self.assertEqual(out["uneven rows"], [[0, 1, 2], [0, 0, 1, 1, 2, 2], []][rank])
            self.assertEqual(out["later"], [1.0, True, True])
            self.assertEqual(out["wait(tensor)"], 6.0)
            self.assertEqual(out["dropped"], 6.0)
            self.assertIn("op exp: output Out was changed in place", out["leaf"])

    def test_groups(self):
        for rank, out in enumerate(job(groups)):
            member = rank != 1
            self.assertEqual(out["members"], [[0, -1, 0, [0, 2], 3, 2], [-1, 0, 1, [0, 2], 3, -1], [1, -1, 2, [0, 2], 3, 2]][rank])
            self.assertEqual(out["sum"][0], 4.0 if member else 2.0)
            self.assertEqual(out["sum"][1], [] if member else ["Current global rank 1 is not in group _default_pg1"])
            self.assertEqual(out["after destroy"], 8.0 if member else 2.0)
            if member:
                self.assertEqual(out["destroyed"][0], "RuntimeError")
                self.assertIn("has been destroyed", out["destroyed"][1])
            else:
                self.assertEqual(out["root outside"][0], "ValueError")
                self.assertIn("broadcast: rank 0 is not in the group, whose ranks are [1]", out["root outside"][1])
            self.assertEqual(out["get_group"], [None, "Group 1 is not initialized.", 3])
            self.assertEqual([kind for kind, _ in out["wrong"]],
                             ["ValueError", "ValueError", "TypeError", "ValueError", "TypeError", "ValueError"])
            for text, words in zip(out["wrong"], ("rank 7 is not in the world", "backend is 'smoke'", "tensor must be a Tensor",
                                                  "unknown op 17", "what new_group gives", "a list of 1 tensors for a group of 3")):
                self.assertIn(words, text[1])
            self.assertEqual(out["left"][0], False)
            self.assertIn("call paddle.distributed.init_parallel_env() first", out["left"][1])

    def test_one_process(self):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            self.assertIsNone(dist.init_parallel_env())
            model = paddle.DataParallel(nn.Linear(1, 1))
        self.assertIn("not a parallel execution environment", str(heard[0].message))
        self.assertIn("single-card", str(heard[1].message))
        model(tensor([[1.0]])).backward()
        self.assertEqual((dist.get_world_size(), dist.get_rank(), dist.is_initialized()), (1, 0, False))
        for call in (lambda: dist.all_reduce(tensor([1.0])), dist.barrier, lambda: dist.all_gather([], tensor([1.0]))):
            kind, text = told(call)
            self.assertEqual(kind, "RuntimeError")
            self.assertIn("the global group is not initialized", text)
            self.assertIn("--nproc_per_node 2", text)


class Models(unittest.TestCase):
    def test_shared_sparse_and_unused(self):
        for out in job(models):
            self.assertEqual(out["seen"], 5.0)
            self.assertEqual(out["keys"], ["seen", "table.weight", "out.weight", "idle.weight", "idle.bias"])
            self.assertEqual(out["names"][0], "_layers.table.weight")
            self.assertTrue(out["idle"] and out["same"])
            self.assertLess(out["error"], 1e-5)
            self.assertEqual(out["nothing to train"][0], "RuntimeError")
            self.assertIn("does not have any parameters to train", out["nothing to train"][1])

    def test_one_rank_reads(self):
        for eager in True, False:
            for out in job(one_rank_reads, eager, ranks=2):
                self.assertEqual(out, {rule: True for rule in RULES}, "eager" if eager else "static")

    def test_fleet(self):
        for rank, out in enumerate(job(fleets, ranks=2)):
            self.assertEqual(out, {"sum": [[1, 4]], "max": 1.5, "gathered": [{"rank": 0}, {"rank": 1}], "local": str(rank), "auc": 1.0,
                                   "acc": 3 / 8, "model": "DataParallel"})


class Failures(unittest.TestCase):
    def check(self, what, words, code, seconds=5):
        results, codes = broken(others_then, what)
        self.assertEqual(codes, [0, code, 0])
        for rank in (0, 2):
            self.assertEqual(results[rank]["kind"], "RuntimeError")
            self.assertIn(words, results[rank]["text"])
            self.assertLess(results[rank]["seconds"], seconds)

    def test_raises(self):
        self.check(raises, "rank 1 has ended with exit status 1", 1)

    def test_exits(self):
        self.check(exits, "rank 1 has ended with exit status 3", 3)

    def test_leaves(self):
        self.check(leaves, "rank 1 has left the group", 0)

    def test_killed(self):
        self.check(is_killed, "is dead: its process has ended without notice", -9)

    def test_another_call(self):
        results, codes = broken(others_then, gathers)
        self.assertEqual(codes, [0, 1, 0])
        self.assertIn("rank 1 calls all_gather of 8 bytes where rank 0 calls all_reduce(sum) of 1 float32", results[0]["text"])

    def test_lengths(self):
        for kind, text in job(gather_of_lengths, ranks=2):
            self.assertEqual(kind, "RuntimeError")
            self.assertIn("rank 1 calls all_gather of 8 bytes where rank 0 calls all_gather of 4 bytes", text)

    def test_fork(self):
        for text in job(in_a_fork, ranks=2):
            self.assertIn("this process is a fork of a rank", text)

    def test_interrupted(self):
        for in_backward in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                mine, other = job(interrupted, os.path.join(folder, "over"), in_backward, ranks=2)
            self.assertEqual(mine, ("KeyboardInterrupt", "rank 0 was interrupted (SIGINT)"))
            self.assertEqual(other, ("RuntimeError", "rank 0 was interrupted (SIGINT)"))


def fails(rank_of, seconds):
    dist.init_parallel_env()
    if dist.get_rank() == rank_of:
        raise ValueError("bad rows")
    time.sleep(seconds)


def dies():
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


class Spawn(unittest.TestCase):
    def test_exception(self):
        begun = time.time()
        with self.assertRaises(Exception) as caught:
            dist.spawn(fails, args=(1, 60), nprocs=2)
        self.assertIn("Process 1 terminated with the following error", str(caught.exception))
        self.assertIn("ValueError: bad rows", str(caught.exception))
        self.assertLess(time.time() - begun, 20)

    def test_signal(self):
        with self.assertRaises(Exception) as caught:
            dist.spawn(dies, nprocs=2)
        self.assertEqual(str(caught.exception), "Process 1 terminated with signal SIGKILL.")

    def test_arguments(self):
        for keys, words in (({"nprocs": 0}, "nprocs is 0"), ({"start_method": "smoke"}, "start_method is 'smoke'"),
                            ({"colour": 1}, "unknown option colour")):
            with self.assertRaisesRegex(ValueError, words):
                dist.spawn(fails, **keys)


class OldNames(unittest.TestCase):
    def test_gloo(self):
        dist.gloo_init_parallel_env(0, 1, "127.0.0.1:1")
        dist.gloo_barrier()
        dist.gloo_release()
        kind, text = told(dist.gloo_init_parallel_env, 1, 2, "127.0.0.1:1")
        self.assertEqual(kind, "RuntimeError")
        self.assertIn("PADDLE_TRAINER_ENDPOINTS", text)

    def test_fluid(self):
        from paddle import fluid
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strategy = fluid.dygraph.parallel.prepare_context()
            with fluid.dygraph.guard():
                model = fluid.dygraph.parallel.DataParallel(fluid.dygraph.Linear(2, 1), strategy)
                loss = model.scale_loss(model(fluid.dygraph.to_variable(np.ones([1, 2], "float32"))))
                loss.backward()
                model.apply_collective_grads()
        self.assertEqual(strategy.nranks, 1)
        self.assertEqual(model.parameters()[0].gradient().tolist(), [[1.0], [1.0]])

    def test_environment(self):
        env = dist.ParallelEnv()
        self.assertEqual([env.rank, env.local_rank, env.world_size, env.nranks, env.device_id, env.dev_id, env.current_endpoint,
                          env.trainer_endpoints, env.nrings, env.device_type], [0, 0, 1, 1, 0, 0, "", [], 1, ""])
        from paddle.distributed import utils
        self.assertEqual(len(utils.find_free_ports(3)), 3)
        self.assertEqual(dist.ParallelMode.DATA_PARALLEL, 0)


if __name__ == "__main__":
    unittest.main()
