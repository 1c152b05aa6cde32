"""The documents' CTR-DNN by exe.run and by train_from_dataset, on Skiff or on real Paddle 1.8.5, unchanged:

    python ctr.py [BATCH [STEPS]]

Prints microseconds a sample of processor time (of the whole process) and of wall time, and the median loss as a sign of life.
"""
import math
import os
import sys
import tempfile
import time

os.environ.setdefault("CPU_NUM", "1")

import numpy as np
import paddle.fluid as fluid

BATCH = int(sys.argv[1]) if len(sys.argv) > 1 else 100
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
IDS = 1000001


def network():
    dense = fluid.layers.data("dense_input", [13])
    ids = [fluid.layers.data("C%d" % i, [1], dtype="int64", lod_level=1) for i in range(1, 27)]
    label = fluid.layers.data("label", [1], dtype="int64")
    table = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())
    slots = [fluid.layers.embedding(x, [IDS, 10], is_sparse=True, param_attr=table) for x in ids]
    hidden = fluid.layers.concat(slots + [dense], axis=1)
    for _ in range(3):
        hidden = fluid.layers.fc(hidden, 400, act="relu", param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.Normal(scale=1 / math.sqrt(hidden.shape[1]))))
    predict = fluid.layers.fc(hidden, 2, act="softmax")
    loss = fluid.layers.reduce_mean(fluid.layers.cross_entropy(predict, label))
    fluid.optimizer.SGD(0.01).minimize(loss)
    return [dense] + ids + [label], loss


def batches(count):
    """Ids repeat about as in click logs."""
    random = np.random.RandomState(1)
    for _ in range(count):
        yield (random.rand(BATCH, 13).astype("float32"),
               [(IDS * random.rand(BATCH, 1) ** 6).astype("int64") for _ in range(26)],
               (random.rand(BATCH, 1) < 0.3).astype("int64"))


def measure(what, call, samples):
    wall, cpu = time.time(), time.process_time()
    result = call()
    print("%-20s %8.2f us cpu, %8.2f us wall a sample%s" % (
        what, 1e6 * (time.process_time() - cpu) / samples, 1e6 * (time.time() - wall) / samples,
        "" if result is None else ", median loss %.4f" % result))
    sys.stdout.flush()


def main():
    inputs, loss = network()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    program, lengths, feeds = fluid.default_main_program(), [[1] * BATCH], []
    for dense, ids, label in batches(10):
        feed = {"dense_input": dense, "label": label}
        for i, values in enumerate(ids):
            feed["C%d" % (i + 1)] = fluid.create_lod_tensor(values, lengths, fluid.CPUPlace())
        feeds.append(feed)

    def by_run(steps):
        values = [exe.run(program, feed=feeds[s % len(feeds)], fetch_list=[loss])[0] for s in range(steps)]
        return float(np.median(values))

    by_run(5)
    measure("exe.run", lambda: by_run(STEPS), STEPS * BATCH)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part-0")
        with open(path, "w") as out:
            for dense, ids, label in batches(STEPS):
                for row in range(BATCH):
                    out.write("13 " + " ".join("%.6f" % v for v in dense[row]) + " " +
                              " ".join("1 %d" % v[row, 0] for v in ids) + " 1 %d\n" % label[row, 0])
        dataset = fluid.DatasetFactory().create_dataset()
        dataset.set_use_var(inputs)
        dataset.set_pipe_command("cat")
        dataset.set_batch_size(BATCH)
        dataset.set_thread(1)
        dataset.set_filelist([path])
        exe.train_from_dataset(program, dataset)
        measure("train_from_dataset", lambda: exe.train_from_dataset(program, dataset), STEPS * BATCH)


main()
