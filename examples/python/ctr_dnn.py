"""A CTR-DNN in static mode of paddle 2.x, fed from a CSV; ends with a model in Paddle's files.

    python3 ../tutorial/make_visits.py > visits.csv
    skiff python ctr_dnn.py visits.csv model/visits"""
import sys

import numpy as np
import paddle
from visits_reader import ROWS, SLOTS, parse

rows = [row for row in map(parse, open(sys.argv[1])) if row]
ids, numbers = (np.array([row[i] for row in rows], kind) for i, kind in enumerate(("int64", "float32")))
labels = np.array([[row[2]] for row in rows], "int64")

paddle.enable_static()
paddle.seed(1)
inputs = [paddle.static.data(slot, [None, 1], "int64") for slot in SLOTS]
dense = paddle.static.data("numbers", [None, 2], "float32")
label = paddle.static.data("label", [None, 1], "int64")
table = paddle.nn.Embedding(ROWS, 8, sparse=True)
hidden = paddle.concat([paddle.reshape(table(x), [-1, 8]) for x in inputs] + [dense], axis=1)
for width in (32, 16):
    hidden = paddle.static.nn.fc(hidden, width, activation="relu")
predict = paddle.nn.functional.softmax(paddle.static.nn.fc(hidden, 2))
loss = paddle.mean(paddle.nn.functional.cross_entropy(predict, label, use_softmax=False))
test = paddle.static.default_main_program().clone(for_test=True)
paddle.optimizer.Adam(0.003).minimize(loss)

exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
train_rows = len(rows) * 9 // 10


def batches(first, last, size=200):
    for at in range(first, last, size):
        cut = slice(at, min(at + size, last))
        feed = {slot: ids[cut, i:i + 1] for i, slot in enumerate(SLOTS)}
        yield {**feed, "numbers": numbers[cut], "label": labels[cut]}


for epoch in range(5):
    losses = [exe.run(feed=feed, fetch_list=[loss])[0] for feed in batches(0, train_rows)]
    print("epoch %d: loss %.4f" % (epoch, np.mean(losses)))
metric = paddle.metric.Auc()
for feed in batches(train_rows, len(rows)):
    metric.update(exe.run(test, feed=feed, fetch_list=[predict])[0], feed["label"])
print("test auc %.4f" % metric.accumulate())
paddle.static.save_inference_model(sys.argv[2], inputs + [dense], [predict], exe)
