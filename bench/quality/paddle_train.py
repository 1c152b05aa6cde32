"""The reference CTR-DNN in real Paddle 1.8.5: trained on MultiSlot files, evaluated on others after every epoch.
PIPE: the pipe command, "cat" when it is not set. IN_MEMORY: set for an InMemoryDataset.
usage: paddle_train.py SEED EPOCHS BATCH RATE OPTIMIZER THREADS VALID_FILE TRAIN_FILE..."""
import math
import os
import sys
import time

import numpy as np
import paddle.fluid as fluid

seed, epochs, batch, rate, optimizer, threads = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5], int(sys.argv[6])
valid, train = sys.argv[7], sys.argv[8:]
L = fluid.layers
fluid.default_startup_program().random_seed = seed
dense = L.data("dense_input", [13], dtype="float32")
ids = [L.data("C%d" % i, [1], dtype="int64", lod_level=1) for i in range(1, 27)]
label = L.data("label", [1], dtype="int64")
rows = [L.embedding(x, size=[1000001, 10], is_sparse=True, param_attr=fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())) for x in ids]
x = L.concat(rows + [dense], axis=1)
for size, act in ((400, "relu"), (400, "relu"), (400, "relu"), (2, "softmax")):
    x = L.fc(x, size, act=act, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=1 / math.sqrt(x.shape[1]))))
loss = L.reduce_sum(L.cross_entropy(x, label))
test = fluid.default_main_program().clone(for_test=True)
{"adam": lambda: fluid.optimizer.Adam(rate), "adam_lazy": lambda: fluid.optimizer.Adam(rate, lazy_mode=True), "sgd": lambda: fluid.optimizer.SGD(rate)}[optimizer]().minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())


def read(path):
    """Batches of a MultiSlot file as feeds; one id in every slot."""
    table = np.array([l.split() for l in open(path)])
    for at in range(0, len(table), batch):
        part = table[at:at + batch]
        feed = {"dense_input": part[:, 1:14].astype("float32"), "label": part[:, -1:].astype("int64")}
        for i in range(26):
            v = part[:, 15 + 2 * i:16 + 2 * i].astype("int64")
            feed["C%d" % (i + 1)] = fluid.create_lod_tensor(v, [[1] * len(v)], fluid.CPUPlace())
        yield feed


def judge():
    p, y = [], []
    for feed in read(valid):
        p.append(np.array(exe.run(test, feed=feed, fetch_list=[x.name], return_numpy=False)[0])[:, 1])
        y.append(feed["label"][:, 0])
    p, y = np.concatenate(p).astype("float64"), np.concatenate(y)
    order = np.argsort(p, kind="mergesort")
    ranks = np.empty(len(p))
    ranks[order] = np.arange(1, len(p) + 1)
    pos = y.sum()
    auc = (ranks[y == 1].sum() - pos * (pos + 1) / 2) / (pos * (len(y) - pos))
    q = np.clip(np.where(y == 1, p, 1 - p), 1e-7, 1)
    return auc, -np.log(q).mean()


in_memory = os.environ.get("IN_MEMORY")
dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset" if in_memory else "QueueDataset")
dataset.set_use_var([dense] + ids + [label])
dataset.set_pipe_command(os.environ.get("PIPE", "cat"))
dataset.set_batch_size(batch)
dataset.set_thread(threads)
dataset.set_filelist(train)
if in_memory:
    dataset.load_into_memory()
count = sum(1 for f in train for _ in open(f))
for epoch in range(epochs):
    start = time.time()
    exe.train_from_dataset(program=fluid.default_main_program(), dataset=dataset)
    seconds = time.time() - start
    print("seed %d epoch %d: %.0f samples/s, valid auc %.4f log loss %.4f" % ((seed, epoch, count / seconds) + judge()), flush=True)
