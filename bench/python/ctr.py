"""The documents' CTR-DNN by exe.run and by train_from_dataset, on Skiff or on real Paddle 1.8.5, unchanged:

    python ctr.py [BATCH [STEPS]]

Prints microseconds a sample of processor time (of the whole process) and of wall time, and the median loss as a sign of life.
"""
import os
import sys
import tempfile
import time

os.environ.setdefault("CPU_NUM", "1")

import documents
import numpy as np
import paddle.fluid as fluid

BATCH = int(sys.argv[1]) if len(sys.argv) > 1 else 100
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 100


def network():
    inputs, predict, label = documents.network()
    loss = fluid.layers.reduce_mean(fluid.layers.cross_entropy(predict, label))
    fluid.optimizer.SGD(0.01).minimize(loss)
    return inputs, loss


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
    for seed in range(10):
        dense, ids, label = documents.rows(BATCH, seed)
        feed = {"dense_input": dense, "label": label}
        for i in range(26):
            feed["C%d" % (i + 1)] = fluid.create_lod_tensor(ids[:, i:i + 1].copy(), lengths, fluid.CPUPlace())
        feeds.append(feed)

    def by_run(steps):
        values = [exe.run(program, feed=feeds[s % len(feeds)], fetch_list=[loss])[0] for s in range(steps)]
        return float(np.median(values))

    by_run(5)
    measure("exe.run", lambda: by_run(STEPS), STEPS * BATCH)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part-0")
        with open(path, "w") as out:
            documents.write_rows(out, *documents.rows(STEPS * BATCH, 1))
        dataset = documents.dataset(inputs, path, BATCH)
        exe.train_from_dataset(program, dataset)
        measure("train_from_dataset", lambda: exe.train_from_dataset(program, dataset), STEPS * BATCH)


main()
