"""paddle.fluid's dataset with a pipe command: training by two threads from text files, one process of the command a file.

    python3 ../tutorial/make_visits.py 10000 1 > part-0.csv
    python3 ../tutorial/make_visits.py 10000 2 > part-1.csv
    skiff python dataset.py model part-0.csv part-1.csv"""
import os
import sys

import paddle.fluid as fluid
from visits_reader import ROWS, SLOTS

inputs = [fluid.data(slot, [None, 1], "int64") for slot in SLOTS]
dense = fluid.data("numbers", [None, 2], "float32")
label = fluid.data("label", [None, 1], "int64")
rows = [fluid.embedding(x, [ROWS, 8], is_sparse=True, param_attr="table") for x in inputs]
hidden = fluid.layers.concat([fluid.layers.reshape(x, [-1, 8]) for x in rows] + [dense], axis=1)
hidden = fluid.layers.fc(hidden, 32, act="relu")
predict = fluid.layers.fc(hidden, 2, act="softmax")
loss = fluid.layers.mean(fluid.layers.cross_entropy(predict, label))
auc = fluid.layers.auc(predict, label)[0]
fluid.optimizer.Adam(0.003).minimize(loss)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset")
dataset.set_use_var(inputs + [dense, label])
dataset.set_pipe_command("python " + os.path.join(os.path.dirname(os.path.abspath(__file__)), "visits_reader.py"))
dataset.set_batch_size(200)
dataset.set_thread(2)
dataset.set_filelist(sys.argv[2:])
dataset.load_into_memory()
print("%d samples" % dataset.get_memory_data_size())
for epoch in range(4):
    dataset.local_shuffle()
    exe.train_from_dataset(fluid.default_main_program(), dataset, fetch_list=[auc], fetch_info=["epoch %d: auc" % epoch], print_period=20)
fluid.io.save_inference_model(sys.argv[1], [x.name for x in inputs + [dense]], [predict], exe)
print("saved " + sys.argv[1])
