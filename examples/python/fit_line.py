"""Linear regression with paddle.fluid: finds the line that noisy points were drawn from.

    skiff python fit_line.py"""
import numpy as np
import paddle.fluid as fluid

draw = np.random.RandomState(1)
points = draw.rand(256, 2).astype("float32")
values = points @ np.array([[2], [-3]], "float32") + 1 + 0.01 * draw.randn(256, 1).astype("float32")

x = fluid.data("x", [None, 2])
y = fluid.data("y", [None, 1])
guess = fluid.layers.fc(x, 1, param_attr="slope", bias_attr="offset")
loss = fluid.layers.mean(fluid.layers.square_error_cost(guess, y))
fluid.optimizer.SGD(learning_rate=0.3).minimize(loss)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
for step in range(300):
    cost, = exe.run(feed={"x": points, "y": values}, fetch_list=[loss])
    if step % 100 == 0:
        print("step %d: loss %.4f" % (step, cost[0]))
slope, offset = (np.array(fluid.global_scope().find_var(name).get_tensor()) for name in ("slope", "offset"))
print("y = %.2f x0 %+.2f x1 %+.2f" % (slope[0, 0], slope[1, 0], offset[0]))
