"""What needs no native module: data generators, readers, datasets, roles, names that do not exist."""
import gzip
import io
import os
import pickle
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

import numpy as np
import paddle
import paddle.compat
import paddle.fluid.incubate.data_generator as dg
from paddle.dataset import common
from paddle.fluid.incubate.fleet.base import role_maker


class Words(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def reader():
            if line is None:
                yield [("words", [1, 2]), ("label", [0])]
                return
            for part in line.split(";"):
                yield eval(part)  # the test's own lines

        return reader


def generate(generator, text):
    out = io.StringIO()
    with mock.patch.object(sys, "stdin", io.StringIO(text)), mock.patch.object(sys, "stdout", out):
        generator.run_from_stdin()
    return out.getvalue()


class DataGenerator(unittest.TestCase):
    def test_lines(self):
        text = generate(Words(), "[('a', [1, 2]), ('b', [0.5])]\n[('a', [7]), ('b', [3])];None\n")
        self.assertEqual(text, "2 1 2 1 0.5\n1 7 1 3\n")

    def test_iterables(self):
        """zip(names, values) and whatever else gives pairs, as in 2.6 (test_data_generator there)."""
        import paddle.distributed.fleet as fleet

        class Pairs:
            def __iter__(self):
                return iter([("a", [1, 2]), ("b", [0])])

        for module in dg, fleet:
            for sample in (zip(["a", "b"], [[1, 2], [0]]), {"a": [1, 2], "b": [0]}.items(),
                           ((name, values) for name, values in [("a", [1, 2]), ("b", [0])]), map(tuple, Pairs()), Pairs()):
                self.assertEqual(module.MultiSlotDataGenerator()._gen_str(sample), "2 1 2 1 0\n")
            self.assertEqual(module.MultiSlotStringDataGenerator()._gen_str(zip(["a", "b"], [["1", "2"], ["0"]])), "2 1 2 1 0\n")
            for wrong in (3, {"a": [1]}, b"ab"):
                with self.assertRaisesRegex(ValueError, "an iterable of pairs.* found <class"):
                    module.MultiSlotDataGenerator()._gen_str(wrong)
        class Zips(Words):  # twice the same object would be empty the second time: a new one every line, as users write it
            def generate_sample(self, line):
                return lambda: iter([zip(["a", "b"], [[int(line)], [0.5]])])

        self.assertEqual(generate(Zips(), "3\n4\n"), "1 3 1 0.5\n1 4 1 0.5\n")

    def test_memory_and_batches(self):
        class Pairs(Words):
            def generate_batch(self, samples):
                def local():
                    yield samples[-1]

                return local

        pairs = Pairs()
        pairs.set_batch(2)
        self.assertEqual(generate(pairs, "[('a', [1])]\n[('a', [2])]\n[('a', [3])]\n"), "1 2\n1 3\n")
        out = io.StringIO()
        with mock.patch.object(sys, "stdout", out):
            Words().run_from_memory()
        self.assertEqual(out.getvalue(), "2 1 2 1 0\n")

    def test_line_limit(self):
        words = Words()
        words._set_line_limit(1)
        self.assertEqual(generate(words, "[('a', [1])]\n[('a', [2])]\n"), "1 1\n")
        self.assertRaises(ValueError, words._set_line_limit, "1")
        self.assertRaises(ValueError, words._set_line_limit, 0)

    def test_wrong_samples(self):
        for line in ("'text'", "[(1, [1])]", "[('a', 1)]", "[('a', [])]", "[('a', ['x'])]",
                     "[('a', [1])];[('a', [1]), ('b', [1])]", "[('a', [1])];[('b', [1])]"):
            with self.assertRaises(ValueError, msg=line):
                generate(Words(), line + "\n")

    def test_base(self):
        base = dg.DataGenerator()
        self.assertRaises(NotImplementedError, base.generate_sample, "")
        self.assertRaises(NotImplementedError, base._gen_str, [])

    def test_strings(self):
        class Strings(dg.MultiSlotStringDataGenerator):
            def generate_sample(self, line):
                def reader():
                    yield [("a", line.split()), ("b", ["x"])]

                return reader

        self.assertEqual(generate(Strings(), "1 2 3\n"), "3 1 2 3 1 x\n")
        self.assertRaises(ValueError, Strings()._gen_str, "text")

    def test_starts_fast(self):
        """A pipe command starts once per file: it takes less than 0.1 s of processor time more than Python itself."""
        module = "import paddle.fluid.incubate.data_generator, sys; sys.exit('numpy' in sys.modules or 'skiff' in sys.modules)"
        self.assertLess(self.start_seconds(module) - self.start_seconds("pass"), 0.1)

    def start_seconds(self, code):
        """Processor seconds of a Python that runs `code`: the least of three."""
        code = "import atexit, time; atexit.register(lambda: print(time.process_time())); " + code
        return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))


def numbers(n):
    return lambda: iter(range(n))


class Readers(unittest.TestCase):
    def test_batch(self):
        self.assertEqual(list(paddle.batch(numbers(5), 2)()), [[0, 1], [2, 3], [4]])
        self.assertEqual(list(paddle.batch(numbers(5), 2, drop_last=True)()), [[0, 1], [2, 3]])
        self.assertRaises(ValueError, paddle.batch, numbers(5), 0)

    def test_decorators(self):
        r = paddle.reader
        self.assertEqual(list(r.map_readers(lambda a, b: a + b, numbers(3), numbers(3))()), [0, 2, 4])
        self.assertEqual(sorted(r.shuffle(numbers(7), 3)()), list(range(7)))
        self.assertEqual(list(r.chain(numbers(2), numbers(2))()), [0, 1, 0, 1])
        self.assertEqual(list(r.compose(numbers(2), lambda: iter([(5, 6), (7, 8)]))()), [(0, 5, 6), (1, 7, 8)])
        with self.assertRaises(r.ComposeNotAligned):
            list(r.compose(numbers(2), numbers(3))())
        self.assertEqual(list(r.compose(numbers(2), numbers(3), check_alignment=False)()), [(0, 0), (1, 1)])
        self.assertRaises(TypeError, r.compose, numbers(2), align=True)
        self.assertEqual(list(r.buffered(numbers(4), 2)()), [0, 1, 2, 3])
        self.assertEqual(list(r.firstn(numbers(9), 2)()), [0, 1])
        calls = []
        cached = r.cache(lambda: calls.append(1) or iter([1, 2]))
        self.assertEqual(list(cached()) + list(cached()), [1, 2, 1, 2])
        self.assertEqual(len(calls), 1)
        self.assertEqual(sorted(r.xmap_readers(lambda x: x * x, numbers(6), 3, 4)()), [0, 1, 4, 9, 16, 25])
        self.assertEqual(list(r.xmap_readers(lambda x: x * x, numbers(6), 3, 4, order=True)()), [0, 1, 4, 9, 16, 25])
        self.assertEqual(sorted(r.multiprocess_reader([numbers(3), numbers(2)])()), [0, 0, 1, 1, 2])
        self.assertRaises(ValueError, r.multiprocess_reader, [])

    def test_errors_come_through(self):
        def bad():
            yield 1
            raise KeyError("lost")

        for reader in (paddle.reader.buffered(bad, 2), paddle.reader.xmap_readers(lambda x: x, bad, 2, 2)):
            with self.assertRaises(KeyError):
                list(reader())
        with self.assertRaises(ZeroDivisionError):
            list(paddle.reader.xmap_readers(lambda x: 1 // x, numbers(3), 1, 2)())
        with self.assertRaises(ValueError):
            list(paddle.reader.multiprocess_reader([bad])())

    def test_compat(self):
        c = paddle.compat
        self.assertEqual(c.to_text(b"ab"), "ab")
        self.assertEqual(c.to_text([b"a", {b"b"}, {b"c": b"d"}, None]), ["a", {"b"}, {"c": "d"}, None])
        self.assertEqual(c.to_bytes("ab"), b"ab")
        values = ["a"]
        self.assertIs(c.to_bytes(values, inplace=True), values)
        self.assertEqual(values, [b"a"])
        self.assertEqual([c.round(0.5), c.round(-0.5), c.round(0), c.round(2.25, 1)], [1.0, -1.0, 0.0, 2.3])
        self.assertEqual(c.floor_division(7, 2), 3)
        self.assertEqual(c.get_exception_message(ValueError("x")), "x")


class Datasets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        patch = mock.patch.object(common, "DATA_HOME", self.folder.name)
        patch.start()
        self.addCleanup(patch.stop)

    def path(self, *names):
        path = os.path.join(self.folder.name, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def test_uci_housing(self):
        train = list(paddle.dataset.uci_housing.train()())
        test = list(paddle.dataset.uci_housing.test()())
        self.assertEqual((len(train), len(test)), (404, 102))
        self.assertEqual((train[0][0].shape, train[0][1].shape), ((13,), (1,)))
        self.assertAlmostEqual(train[0][1][0], 24.0)
        self.assertAlmostEqual(train[0][0][0], -0.0405441, places=6)
        self.assertLess(max(abs(row[0]).max() for row in train + test), 1.0)

    def test_mnist(self):
        images = struct.pack(">IIII", 2051, 2, 2, 2) + bytes([0, 255, 0, 255, 51, 0, 0, 0])
        for name in ("train", "t10k"):
            with gzip.open(self.path("mnist", name + "-images-idx3-ubyte.gz"), "wb") as file:
                file.write(images)
            with gzip.open(self.path("mnist", name + "-labels-idx1-ubyte.gz"), "wb") as file:
                file.write(struct.pack(">II", 2049, 2) + bytes([3, 9]))
        for reader in (paddle.dataset.mnist.train(), paddle.dataset.mnist.test()):
            rows = list(reader())
            self.assertEqual([label for _, label in rows], [3, 9])
            np.testing.assert_allclose(rows[0][0], [-1, 1, -1, 1])
            np.testing.assert_allclose(rows[1][0], [-0.6, -1, -1, -1], rtol=1e-6)

    def test_cifar(self):
        def archive(name, member, key):
            with tarfile.open(self.path("cifar", name), "w:gz") as tar:
                data = pickle.dumps({b"data": np.full((2, 4), 51, "uint8"), key: [1, 2]})
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))

        archive("cifar-10-python.tar.gz", "data_batch_1", b"labels")
        self.assertEqual([label for _, label in paddle.dataset.cifar.train10()()], [1, 2])
        archive("cifar-10-python.tar.gz", "test_batch", b"labels")
        np.testing.assert_allclose(next(paddle.dataset.cifar.test10()())[0], [0.2] * 4)
        archive("cifar-100-python.tar.gz", "train", b"fine_labels")
        self.assertEqual(len(list(paddle.dataset.cifar.train100()())), 2)
        archive("cifar-100-python.tar.gz", "test", b"fine_labels")
        self.assertEqual(len(list(paddle.dataset.cifar.test100()())), 2)

    def test_text(self):
        def add(tar, name, text):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))

        with tarfile.open(self.path("imdb", "aclImdb_v1.tar.gz"), "w:gz") as tar:
            for part in ("train", "test"):
                add(tar, "aclImdb/%s/pos/1.txt" % part, b"Good, good film!\n")
                add(tar, "aclImdb/%s/neg/1.txt" % part, b"bad film")
        import re
        words = paddle.dataset.imdb.build_dict(re.compile(r"aclImdb/train/.*\.txt$"), 0)
        self.assertEqual(words, {b"film": 0, b"good": 1, b"bad": 2, b"<unk>": 3})
        self.assertEqual(list(paddle.dataset.imdb.train(words)()), [([1, 1, 0], 0), ([2, 0], 1)])
        self.assertEqual(list(paddle.dataset.imdb.test(words)()), [([1, 1, 0], 0), ([2, 0], 1)])
        self.assertEqual(paddle.dataset.imdb.word_dict(), {b"<unk>": 0})
        with tarfile.open(self.path("imikolov", "simple-examples.tgz"), "w:gz") as tar:
            add(tar, "./simple-examples/data/ptb.train.txt", b"a b a\n")
            add(tar, "./simple-examples/data/ptb.valid.txt", b"a c\n")
        words = paddle.dataset.imikolov.build_dict(0)
        self.assertEqual(len(words), 6)
        grams = list(paddle.dataset.imikolov.train(words, 3)())
        ids = [words[w] for w in (b"<s>", b"a", b"b", b"a", b"<e>")]
        self.assertEqual(grams, [tuple(ids[i:i + 3]) for i in range(3)])
        kind = paddle.dataset.imikolov.DataType.SEQ
        self.assertEqual(list(paddle.dataset.imikolov.test(words, 0, kind)())[0][0][0], words[b"<s>"])

    def test_movielens(self):
        with zipfile.ZipFile(self.path("movielens", "ml-1m.zip"), "w") as archive:
            archive.writestr("ml-1m/movies.dat", "1::Toy Story (1995)::Comedy|Kids\n")
            archive.writestr("ml-1m/users.dat", "1::F::18::10::48067\n")
            archive.writestr("ml-1m/ratings.dat", "1::1::5::978300760\n")
        m = paddle.dataset.movielens
        rows = list(m.train()()) + list(m.test()())
        self.assertEqual(rows, [[1, 1, 1, 10, 1, [0, 1], [1, 0], [5.0]]])
        self.assertEqual((m.max_user_id(), m.max_movie_id(), m.max_job_id()), (1, 1, 10))
        self.assertEqual(m.get_movie_title_dict(), {"story": 0, "toy": 1})
        self.assertEqual(m.movie_categories(), {"Comedy": 0, "Kids": 1})
        self.assertEqual(m.movie_info()[1].title, "Toy Story ")
        self.assertFalse(m.user_info()[1].is_male)

    def test_missing_file_says_where(self):
        with self.assertRaisesRegex(RuntimeError, "train-images.*put"):
            paddle.dataset.mnist.train()

    def test_common(self):
        path = self.path("x", "file")
        with open(path, "w") as file:
            file.write("abc")
        self.assertEqual(common.md5file(path), "900150983cd24fb0d6963f7d28e17f72")
        self.assertEqual(common.download("http://h/file", "x", "900150983cd24fb0d6963f7d28e17f72"), path)
        self.assertRaises(RuntimeError, common.download, "http://h/file", "x", "0")
        suffix = self.path("parts", "%d.pickle").replace("%d", "%05d")
        common.split(numbers(5), 2, suffix=suffix)
        pattern = os.path.join(os.path.dirname(suffix), "*.pickle")
        self.assertEqual(list(common.cluster_files_reader(pattern, 2, 0)()), [0, 1, 4])
        self.assertEqual(list(common.cluster_files_reader(pattern, 2, 1)()), [2, 3])


class Roles(unittest.TestCase):
    SERVERS = {"PADDLE_PSERVERS_IP_PORT_LIST": "1.1.1.1:6,2.2.2.2:7", "PADDLE_TRAINERS_NUM": "3"}

    def cloud(self, base=SERVERS, **more):
        env = dict(base, **more)
        with mock.patch.dict(os.environ, {k: v for k, v in env.items() if v is not None}, clear=True):
            role = role_maker.PaddleCloudRoleMaker()
            role.generate_role()
        return role

    def test_cloud(self):
        role = self.cloud(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="2")
        self.assertTrue(role.is_worker() and not role.is_server() and not role.is_first_worker())
        self.assertEqual((role.worker_index(), role.worker_num(), role.server_num()), (2, 3, 2))
        self.assertEqual(role.get_pserver_endpoints(), ["1.1.1.1:6", "2.2.2.2:7"])
        role = self.cloud(TRAINING_ROLE="PSERVER", POD_IP="2.2.2.2", PADDLE_PORT="7")
        self.assertTrue(role.is_server())
        self.assertEqual(role.server_index(), 1)
        self.assertIn("current_id: 1", role.to_string())

    def test_cloud_older_names(self):
        env = {"PADDLE_PSERVER_IPS": "1.1.1.1,2.2.2.2", "PADDLE_TRAINERS": "2"}
        role = self.cloud(env, PADDLE_TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="1")
        self.assertEqual((role.is_worker(), role.worker_index(), role.worker_num()), (True, 1, 2))
        self.assertEqual(role.get_pserver_endpoints(), ["1.1.1.1:6174", "2.2.2.2:6174"])
        role = self.cloud(env, PADDLE_TRAINING_ROLE="PSERVER", PADDLE_CURRENT_IP="2.2.2.2")
        self.assertEqual((role.is_server(), role.server_index()), (True, 1))

    def test_cloud_errors(self):
        """Each has its own message: the variable, what it is, what is expected."""
        server = dict(TRAINING_ROLE="PSERVER", POD_IP="2.2.2.2", PADDLE_PORT="7")
        worker = dict(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="0")
        for kind, text, env in (
                (KeyError, "TRAINING_ROLE is not set; expected TRAINER or PSERVER", {}),
                (KeyError, "PADDLE_TRAINER_ID is not set", dict(TRAINING_ROLE="TRAINER")),
                (KeyError, "PADDLE_TRAINERS_NUM is not set", dict(worker, PADDLE_TRAINERS_NUM=None)),
                (KeyError, "PADDLE_PSERVERS_IP_PORT_LIST is not set", dict(worker, PADDLE_PSERVERS_IP_PORT_LIST=None)),
                (KeyError, "POD_IP is not set", dict(TRAINING_ROLE="PSERVER", PADDLE_PORT="7")),
                (KeyError, "PADDLE_PORT is not set", dict(TRAINING_ROLE="PSERVER", POD_IP="2.2.2.2")),
                (ValueError, "TRAINING_ROLE is 'WORKER'; expected TRAINER or PSERVER", dict(TRAINING_ROLE="WORKER")),
                (ValueError, "PADDLE_TRAINERS_NUM is 'x'", dict(worker, PADDLE_TRAINERS_NUM="x")),
                (ValueError, "PADDLE_TRAINER_ID is 7, but the job has 3 trainers", dict(worker, PADDLE_TRAINER_ID="7")),
                (ValueError, "this server is 9.9.9.9:7", dict(server, POD_IP="9.9.9.9")),
                (ValueError, "'1.1.1.1' has no port", dict(worker, PADDLE_PSERVERS_IP_PORT_LIST="1.1.1.1")),
                (ValueError, "nothing between two commas", dict(worker, PADDLE_PSERVERS_IP_PORT_LIST="1.1.1.1:6,"))):
            with self.subTest(text), self.assertRaisesRegex(kind, re.escape(text)):
                self.cloud(**env)

    def test_collective(self):
        with mock.patch.dict(os.environ, {"PADDLE_TRAINER_ENDPOINTS": "a:1,b:2", "PADDLE_TRAINER_ID": "1"}, clear=True):
            role = role_maker.PaddleCloudRoleMaker(is_collective=True)
            self.assertEqual((role.worker_num(), role.worker_index()), (2, 1))
        with mock.patch.dict(os.environ, {}, clear=True), self.assertRaises(AssertionError):
            role_maker.PaddleCloudRoleMaker(is_collective=True).generate_role()

    def test_general(self):
        env = dict(self.SERVERS, TRAINING_ROLE="PSERVER", PADDLE_PSERVER_ID="1", PADDLE_TRAINER_ENDPOINTS="c:1,d:2")
        del env["PADDLE_TRAINERS_NUM"]
        with mock.patch.dict(os.environ, env, clear=True):
            role = role_maker.GeneralRoleMaker()
            self.assertEqual((role.server_index(), role.worker_num()), (1, 2))
            self.assertEqual(role.get_local_endpoint(), "2.2.2.2:7")
            self.assertEqual(role.get_trainer_endpoints(), ["c:1", "d:2"])

    def test_user_defined(self):
        make = role_maker.UserDefinedRoleMaker
        role = make(1, role_maker.Role.SERVER, 2, ["a:1", "b:2"])
        self.assertTrue(role.is_server())
        self.assertEqual(role.server_index(), 1)
        self.assertTrue(make(0, role_maker.Role.WORKER, 1, ["a:1"]).is_first_worker())
        for kind, args in ((TypeError, (0, 1, 1, "a:1")), (ValueError, (0, 1, 1, [])), (ValueError, (0, 1, 1, ["a:1", "a:1"])),
                           (TypeError, (0, 1, 1, [1])), (TypeError, (0, 7, 1, ["a:1"])), (TypeError, ("0", 1, 1, ["a:1"])),
                           (ValueError, (-1, 1, 1, ["a:1"])), (ValueError, (1, 2, 1, ["a:1"])),
                           (TypeError, (0, 1, "1", ["a:1"])), (ValueError, (0, 1, 0, ["a:1"]))):
            self.assertRaises(kind, make, *args)
        for text, args in (("current_id is 2, but the job has 2 trainers", (2, 1, 2, ["a:1"])), ("'a' has no port", (0, 1, 1, ["a"]))):
            self.assertRaisesRegex(ValueError, text, make(*args).generate_role)
        collective = role_maker.UserDefinedCollectiveRoleMaker
        self.assertEqual(collective(1, ["a:1", "b:2"]).worker_num(), 2)
        for kind, args in ((TypeError, (0, "a")), (ValueError, (0, [])), (ValueError, (0, ["a", "a"])), (TypeError, (0, [1])),
                           (TypeError, ("0", ["a"])), (ValueError, (-1, ["a"])), (ValueError, (1, ["a"]))):
            self.assertRaises(kind, collective, *args)

    def test_alone(self):
        role = role_maker.UserDefinedRoleMaker(0, role_maker.Role.WORKER, 1, ["a:1"])
        values, out = np.array([1.0, 2.0]), np.zeros(2)
        role.all_reduce_worker(values, out)
        self.assertEqual(out.tolist(), [1.0, 2.0])
        self.assertEqual(role.all_gather(5), [5])
        role.barrier_worker()
        role.barrier_all()
        two = role_maker.UserDefinedRoleMaker(0, role_maker.Role.WORKER, 2, ["a:1"])
        self.assertRaises(RuntimeError, two.barrier_worker)


class Names(unittest.TestCase):
    def test_attribute(self):
        with self.assertRaisesRegex(AttributeError, r"paddle.fluid.incubate.data_generater: Skiff has no such name; "
                                                    r"nearest: data_generator"):
            paddle.fluid.incubate.data_generater
        with self.assertRaisesRegex(AttributeError, "skiff doctor"):
            paddle.fluid.install_check
        self.assertFalse(hasattr(paddle, "no_such_thing"))
        self.assertIsNone(getattr(paddle.fluid, "no_such_thing", None))

    def test_import(self):
        with self.assertRaisesRegex(ImportError, "paddle.dataset.mnits: Skiff has no such name; nearest: mnist"):
            from paddle.dataset import mnits  # noqa: F401
        with self.assertRaisesRegex(ModuleNotFoundError, "paddle.fluid.dygraf: Skiff has no such name"):
            import paddle.fluid.dygraf  # noqa: F401
        with self.assertRaises(ImportError):
            from paddle.fluid import dygraf  # noqa: F401

    def test_dir(self):
        self.assertIn("fluid", dir(paddle))
        self.assertIn("layers", dir(paddle.fluid))
        self.assertEqual(paddle.__version__, paddle.version.full_version)


if __name__ == "__main__":
    unittest.main()
