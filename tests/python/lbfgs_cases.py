"""paddle.optimizer.LBFGS on small problems, for real Paddle 2.6.2 and for Skiff. Run by real Paddle it prints what lbfgs.json
holds:
    python lbfgs_cases.py > lbfgs.json
"""
import json

import numpy as np
import paddle


def parameter(values, dtype):
    start = paddle.to_tensor(np.array(values, dtype))
    return paddle.create_parameter(start.shape, start.dtype, default_initializer=paddle.nn.initializer.Assign(start))


def minimum(loss_of, start, steps, dtype="float64", **settings):
    """Losses that step() gives and what is asked for on the way, then the place."""
    x = parameter(start, dtype)
    optimizer = paddle.optimizer.LBFGS(parameters=[x], **settings)
    asked = []

    def closure():
        loss = loss_of(x)
        optimizer.clear_grad()
        loss.backward()
        asked.append(float(loss))
        return loss
    given = [float(optimizer.step(closure)) for _ in range(steps)]
    state = optimizer.state_dict()["state"]
    return {"given": given, "asked": asked, "place": x.numpy().ravel().tolist(), "counts": [state["func_evals"], state["n_iter"]]}


def valley(x):
    """Rosenbrock's function."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def bowl(x):
    scale = paddle.to_tensor(np.array([1.0, 10.0, 100.0])).astype(x.dtype)
    return (scale * (x - 1) ** 2).sum()


def waves(x):
    return (paddle.sin(3 * x) + 0.1 * x ** 2).sum()


def regression(x):
    random = np.random.RandomState(4)
    rows, labels = random.standard_normal((20, 3)), random.rand(20, 1) < 0.4
    logits = paddle.matmul(paddle.to_tensor(rows).astype(x.dtype), x)
    return paddle.nn.functional.binary_cross_entropy_with_logits(logits, paddle.to_tensor(labels).astype(x.dtype)) + 0.01 * (x ** 2).sum()


CASES = {
    "bowl": lambda: minimum(bowl, [3.0, -2.0, 0.5], 2, max_iter=8),
    "bowl_float32": lambda: minimum(bowl, [3.0, -2.0, 0.5], 1, dtype="float32", max_iter=5),
    "bowl_searched": lambda: minimum(bowl, [3.0, -2.0, 0.5], 2, max_iter=4, line_search_fn="strong_wolfe"),
    "valley_searched": lambda: minimum(valley, [-1.2, 1.0], 4, max_iter=8, line_search_fn="strong_wolfe"),
    "valley_one_by_one": lambda: minimum(valley, [-1.2, 1.0], 12, max_iter=1, line_search_fn="strong_wolfe"),
    "short_memory": lambda: minimum(valley, [-1.2, 1.0], 3, max_iter=8, history_size=2, line_search_fn="strong_wolfe"),
    "few_questions": lambda: minimum(valley, [-1.2, 1.0], 2, max_iter=20, max_eval=6, line_search_fn="strong_wolfe"),
    # no further: real's `loss + tensor` is rounded to float32, so its search continues at the minimum
    "waves_searched": lambda: minimum(waves, [2.0, -0.3, 4.0], 1, max_iter=3, line_search_fn="strong_wolfe"),
    "waves_long_steps": lambda: minimum(waves, [2.0, -0.3, 4.0], 2, learning_rate=8.0, max_iter=6, line_search_fn="strong_wolfe"),
    "regression": lambda: minimum(regression, [[0.0], [0.0], [0.0]], 2, learning_rate=0.5, max_iter=6),
    "regression_searched": lambda: minimum(regression, [[0.0], [0.0], [0.0]], 1, max_iter=3, line_search_fn="strong_wolfe"),
    "solved_at_once": lambda: minimum(bowl, [1.0, 1.0, 1.0], 1),
}


if __name__ == "__main__":
    print(json.dumps({name: case() for name, case in CASES.items()}, sort_keys=True, separators=(",", ":")))
