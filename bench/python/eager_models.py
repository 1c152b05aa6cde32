"""Steps of the models of tests/acceptance/suite/dygraph, as their scripts are, against a real Paddle 2.6 if there is one:

    [PADDLE=python-with-paddle] skiff python eager_models.py [-t 1] [-b 512] [-r ROUNDS] [-s SECONDS] [MODEL ...]

Every model runs in a process of its own on either side; the two take turns of SECONDS / ROUNDS each, in the same minute,
because machines are shared. Prints microseconds a step (medians of the turns) and how many times faster this side is: the
median over the turns of peer's time / own time, by the clock and by processor time. -t: threads (default: as the libraries
choose), -b: rows of a batch in place of the script's own. The losses after 5 steps are a sign that both compute the same.
"""
import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.join(HERE, "..", "..", "tests", "acceptance", "suite", "dygraph")


class Quiet(object):
    """In place of the suite's Truth: compares nothing."""

    def __init__(self, script, **kept):
        pass

    def part(self, function):
        function()
        return function

    def start_from(self, layer, name="start"):
        pass


def tell(clock, processor, loss):
    sys.__stdout__.write(json.dumps({"clock": clock, "processor": processor, "loss": loss}) + "\n")
    sys.__stdout__.flush()


def answer(steps):
    """Runs and times as many steps as a line of stdin asks for, until there are no more lines."""
    for line in iter(sys.stdin.readline, ""):
        clock, processor = time.perf_counter(), time.process_time()
        loss = steps(int(line))
        tell(time.perf_counter() - clock, time.process_time() - processor, loss)
    os._exit(0)


def timed_train(rows_of_batch):
    """In place of the suite's train(): the same steps, from the same values in every turn."""
    def train(truth, name, model, optimizer, batches, loss_of, schedule=None, **kept):
        import numpy as np
        if rows_of_batch:
            count = max(batch.stop for batch in batches)
            every = np.arange(4 * rows_of_batch) % count
            batches = [every[i * rows_of_batch:(i + 1) * rows_of_batch] for i in range(4)]
        start = {key: value.numpy().copy() for key, value in model.state_dict().items()}
        model.train()

        def steps(count):
            model.set_state_dict(start)
            if schedule is not None:
                schedule.step(0)
            for step in range(count):
                loss = loss_of(model, batches[step % len(batches)])
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                if schedule is not None:
                    schedule.step()
                last = loss.item()
            return last
        answer(steps)
    return train


def epochs_of_train_loop(paddle):
    """train_loop.py has its own loop; a step here is one of its epochs, which end with the second file that it saves."""
    from models import clicks
    ids, dense, labels = clicks(40, 200, 5, 100, 3)
    for part in range(2):
        with open("part-%d" % part, "w") as file:
            for i in range(100 * part, 100 * part + 100):
                file.write("label:%d %s dense:%s\n" % (labels[i, 0], " ".join("s%d:%d" % pair for pair in enumerate(ids[i])),
                                                       ",".join("%.4f" % value for value in dense[i])))
    sys.argv = ["train_loop.py", "train", ".", "0", str(10 ** 9)]
    save, left = paddle.save, {"epochs": 0}

    def counted(state, path):
        save(state, path)
        if not path.endswith(".pdopt"):
            return
        now = time.perf_counter(), time.process_time()
        if left["epochs"] > 1:
            left["epochs"] -= 1
            return
        if "start" in left:
            tell(now[0] - left["start"][0], now[1] - left["start"][1], 0.0)
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        left.update(epochs=int(line), start=(time.perf_counter(), time.process_time()))
    paddle.save = counted


def work(model, rows_of_batch):
    """One side: the script with another train() and nothing to compare with. stdout is for answers, prints are not wanted."""
    sys.path.insert(0, os.path.abspath(SUITE))
    import numpy  # noqa: real Paddle wants it first
    import paddle
    import models
    import truth
    truth.Truth, models.train = Quiet, timed_train(rows_of_batch)
    script = os.path.join(os.path.abspath(SUITE), ("" if model == "train_loop" else "model_") + model + ".py")
    sys.stdout = open(os.devnull, "w")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if model == "train_loop":
            epochs_of_train_loop(paddle)
        runpy.run_path(script, run_name="__main__")


class Side(object):
    """A process that takes its turns."""

    def __init__(self, python, model, options):
        environment = dict(os.environ)
        if python != sys.executable:
            environment.pop("PYTHONPATH", None)     # or the peer would find this side's package
        if options.threads:
            environment.update(OMP_NUM_THREADS=str(options.threads), MKL_NUM_THREADS=str(options.threads))
        self.process = subprocess.Popen([python, os.path.abspath(__file__), "--work", model, "-b", str(options.batch)], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)

    def turn(self, steps):
        self.process.stdin.write("%d\n" % steps)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("%s ended, code %s" % (" ".join(self.process.args), self.process.wait()))
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def compare(model, pythons, options):
    """Prints the line of a model; gives (ratio by the clock, by processor time), or None without a peer."""
    sides = [Side(python, model, options) for python in pythons]
    steps, losses = [], []
    for side in sides:                      # the first turn pays for what is made once
        losses.append(side.turn(5)["loss"])
        steps.append(max(2, int(5 * options.seconds / options.rounds / side.turn(5)["clock"])))
    steps = [min(steps)] * len(steps)
    turns = [[side.turn(count) for side, count in zip(sides, steps)] for _ in range(options.rounds)]
    for side in sides:
        side.end()
    of = [[1e6 * turn[i]["clock"] / steps[i] for turn in turns] for i in range(len(sides))]
    text = "%-16s %9.0f us a step" % (model, median(of[0]))
    if len(sides) == 1:
        print(text)
        return None
    ratios = [median([turn[1][key] / turn[0][key] for turn in turns]) for key in ("clock", "processor")]
    print("%s, peer %9.0f us: %5.2f times by the clock, %5.2f by processor time; losses %.5f %.5f" % (
        text, median(of[1]), ratios[0], ratios[1], losses[0], losses[1]))
    sys.stdout.flush()
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("-t", "--threads", type=int, default=0)
    parser.add_argument("-b", "--batch", type=int, default=0)
    parser.add_argument("-r", "--rounds", type=int, default=9)
    parser.add_argument("-s", "--seconds", type=float, default=4.0)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.batch)
    known = sorted(name[len("model_"):-3] for name in os.listdir(SUITE) if name.startswith("model_"))
    if not options.batch:
        known.append("train_loop")
    for name in options.models:
        if name not in known:
            parser.error("no model %s; these are there: %s" % (name, " ".join(known)))
    pythons = [sys.executable] + ([os.environ["PADDLE"]] if os.environ.get("PADDLE") else [])
    print("threads: %s; batch: %s" % (options.threads or "as the libraries choose", options.batch or "as the scripts have it"))
    ratios = [compare(model, pythons, options) for model in options.models or known]
    if len(pythons) == 2:
        print("median %.2f times by the clock, least %.2f; by processor time %.2f, least %.2f" % (
            median([r[0] for r in ratios]), min(r[0] for r in ratios), median([r[1] for r in ratios]), min(r[1] for r in ratios)))


main()
