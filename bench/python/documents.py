"""The documents' CTR-DNN, for the benches of this folder."""
import math

import numpy as np
import paddle.fluid as fluid

IDS = 1000001


def network():
    """Input variables in the order of the text, the prediction and the label."""
    dense = fluid.layers.data("dense_input", [13])
    ids = [fluid.layers.data("C%d" % i, [1], dtype="int64", lod_level=1) for i in range(1, 27)]
    label = fluid.layers.data("label", [1], dtype="int64")
    table = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())
    slots = [fluid.layers.embedding(x, [IDS, 10], is_sparse=True, param_attr=table) for x in ids]
    hidden = fluid.layers.concat(slots + [dense], axis=1)
    for _ in range(3):
        hidden = fluid.layers.fc(hidden, 400, act="relu", param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.Normal(scale=1 / math.sqrt(hidden.shape[1]))))
    return [dense] + ids + [label], fluid.layers.fc(hidden, 2, act="softmax"), label


def rows(count, seed):
    """Dense values, ids (which repeat about as in click logs) and labels of so many rows."""
    random = np.random.RandomState(seed)
    return (random.rand(count, 13).astype("float32"), (IDS * random.rand(count, 26) ** 6).astype("int64"),
            (random.rand(count, 1) < 0.3).astype("int64"))


def write_rows(out, dense, ids, label):
    """As MultiSlot text."""
    for d, i, l in zip(dense, ids, label):
        out.write("13 " + " ".join("%.6f" % v for v in d) + " " + " ".join("1 %d" % v for v in i) + " 1 %d\n" % l[0])


def dataset(inputs, path, batch):
    """One thread, through cat."""
    d = fluid.DatasetFactory().create_dataset()
    d.set_use_var(inputs)
    d.set_pipe_command("cat")
    d.set_batch_size(batch)
    d.set_thread(1)
    d.set_filelist([path])
    return d
