"""The documents' CTR-DNN in eager mode and as a program, on Skiff or on real Paddle 2.6, unchanged:

    python eager.py [BATCH [STEPS [ROUNDS]]]

Both are timed in turns; prints microseconds a sample of processor time, the median of the rounds' ratios, the losses as a
sign of life, and what one small op costs.
"""
import sys
import time

import numpy as np
import paddle

BATCH = int(sys.argv[1]) if len(sys.argv) > 1 else 100
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
VOCABULARY, WIDTH, SLOTS = 1000001, 10, 26


def rows(count, seed):
    """As documents.rows: dense values, ids that repeat about as in click logs, labels."""
    random = np.random.RandomState(seed)
    return (random.rand(count, 13).astype("float32"), (VOCABULARY * random.rand(count, 26) ** 6).astype("int64"),
            (random.rand(count, 1) < 0.3).astype("int64"))


class Network(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = paddle.nn.Embedding(VOCABULARY, WIDTH, sparse=True)
        sizes = [13 + SLOTS * WIDTH, 400, 400, 400]
        self.hidden = paddle.nn.LayerList([paddle.nn.Linear(i, o) for i, o in zip(sizes, sizes[1:])])
        self.out = paddle.nn.Linear(400, 2)

    def forward(self, dense, slots, label):
        parts = [paddle.reshape(self.embedding(ids), [-1, WIDTH]) for ids in slots]
        y = paddle.concat([dense] + parts, axis=1)
        for layer in self.hidden:
            y = paddle.nn.functional.relu(layer(y))
        return paddle.mean(paddle.nn.functional.cross_entropy(self.out(y), label))


def batches():
    out = []
    for seed in range(10):
        dense, ids, label = rows(BATCH, seed)
        out.append((dense, [ids[:, i:i + 1].copy() for i in range(SLOTS)], label))
    return out


def eager(rule):
    network = Network()
    optimizer = rule(parameters=network.parameters())
    data = batches()

    def steps(count):
        losses = []
        for step in range(count):
            dense, slots, label = data[step % len(data)]
            loss = network(paddle.to_tensor(dense), [paddle.to_tensor(s) for s in slots], paddle.to_tensor(label))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        return float(np.median(losses))
    return steps


def program(rule):
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        dense = paddle.static.data("dense", [-1, 13])
        slots = [paddle.static.data("C%d" % i, [-1, 1], "int64") for i in range(SLOTS)]
        label = paddle.static.data("label", [-1, 1], "int64")
        loss = Network()(dense, slots, label)
        rule().minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup)
    feeds = [dict([("dense", d), ("label", y)] + [("C%d" % i, s) for i, s in enumerate(slots)]) for d, slots, y in batches()]

    def steps(count):
        paddle.enable_static()
        losses = [exe.run(main, feed=feeds[step % len(feeds)], fetch_list=[loss])[0] for step in range(count)]
        paddle.disable_static()
        return float(np.median(losses))
    paddle.disable_static()
    return steps


def small_op():
    x, y = paddle.ones([2, 2]), paddle.ones([2, 2])
    x.stop_gradient = False
    best = {}
    for name, call in (("x + y", lambda: x + y), ("relu", lambda: paddle.nn.functional.relu(x))):
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(5000):
                call()
            best[name] = min(best.get(name, 1e9), (time.perf_counter() - start) / 5000)
    print("one small op: " + ", ".join("%s %.2f us" % (name, 1e6 * best[name]) for name in best))


def main():
    small_op()
    for name, rule in (("SGD", lambda **k: paddle.optimizer.SGD(0.01, **k)),
                       ("Adam", lambda **k: paddle.optimizer.Adam(0.001, **k)),
                       ("Adam lazy", lambda **k: paddle.optimizer.Adam(0.001, lazy_mode=True, **k))):
        ways = [("eager", eager(rule)), ("program", program(rule))]
        times, losses = {key: [] for key, _ in ways}, {}
        for turn in range(ROUNDS + 1):
            for key, steps in ways:
                start = time.process_time()
                losses[key] = steps(STEPS)
                if turn:
                    times[key].append(1e6 * (time.process_time() - start) / (STEPS * BATCH))
        ratio = np.median([p / e for e, p in zip(times["eager"], times["program"])])
        print("batch %4d %-10s eager %7.2f us a sample, program %7.2f us: %3.0f %% of the program's speed; losses %.4f %.4f" % (
            BATCH, name, np.median(times["eager"]), np.median(times["program"]), 100 * ratio, losses["eager"],
            losses["program"]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
