"""Predicts rows of a CSV with a saved model: that of ctr_dnn.py, or any whose inputs have the same names.

    skiff python predict.py model/visits new.csv"""
import sys

import numpy as np
import paddle
from visits_reader import SLOTS, parse

paddle.enable_static()
exe = paddle.static.Executor()
program, inputs, outputs = paddle.static.load_inference_model(sys.argv[1], exe)
for line in open(sys.argv[2]):
    row = parse(line)
    if row:
        values = dict(zip(SLOTS, ([[one]] for one in row[0])), numbers=[row[1]])
        feed = {name: np.array(values[name], "float32" if name == "numbers" else "int64") for name in inputs}
        print("%.4f\t%s" % (exe.run(program, feed=feed, fetch_list=outputs)[0][0, 1], line.split(",")[0]))
