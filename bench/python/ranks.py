"""One rank of two that train the documents' CTR-DNN together, with rows in memory: by DataParallel of Skiff (or Paddle) or
by torch's DistributedDataParallel with gloo. bench/ranks.sh starts both, in turns.

    python ranks.py skiff|torch BATCH STEPS

Rank 0 prints the rows a second of all ranks and the loss.
"""
import os
import sys
import time

import numpy as np

KIND, BATCH, STEPS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
VOCABULARY, WIDTH, SLOTS, RATE = 1000001, 10, 26, 0.01
RANK, RANKS = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])


def batches():
    out = []
    for seed in range(10):
        random = np.random.RandomState(seed * RANKS + RANK)
        out.append((random.rand(BATCH, 13).astype("float32"), (VOCABULARY * random.rand(BATCH, SLOTS) ** 6).astype("int64"),
                    (random.rand(BATCH) < 0.3).astype("int64")))
    return out


def skiff():
    import paddle
    from paddle import nn

    class Network(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, WIDTH, sparse=True)
            sizes = [13 + SLOTS * WIDTH, 400, 400, 400]
            self.hidden = nn.LayerList([nn.Linear(i, o) for i, o in zip(sizes, sizes[1:])])
            self.out = nn.Linear(400, 2)

        def forward(self, dense, ids, label):
            y = paddle.concat([dense, paddle.reshape(self.embedding(ids), [-1, SLOTS * WIDTH])], axis=1)
            for layer in self.hidden:
                y = nn.functional.relu(layer(y))
            return nn.functional.cross_entropy(self.out(y), label)

    paddle.distributed.init_parallel_env()
    network = paddle.DataParallel(Network())
    optimizer = paddle.optimizer.SGD(RATE, parameters=network.parameters())

    def step(dense, ids, label):
        loss = network(paddle.to_tensor(dense), paddle.to_tensor(ids), paddle.to_tensor(label))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return float(loss)
    return step


def torch():
    import torch
    from torch import nn
    torch.set_num_threads(1)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, WIDTH, sparse=True)
            sizes = [13 + SLOTS * WIDTH, 400, 400, 400]
            self.hidden = nn.ModuleList([nn.Linear(i, o) for i, o in zip(sizes, sizes[1:])])
            self.out = nn.Linear(400, 2)

        def forward(self, dense, ids, label):
            y = torch.cat([dense, self.embedding(ids).reshape(-1, SLOTS * WIDTH)], 1)
            for layer in self.hidden:
                y = torch.relu(layer(y))
            return nn.functional.cross_entropy(self.out(y), label)

    host, port = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")[0].split(":")
    torch.distributed.init_process_group("gloo", "tcp://%s:%s" % (host, port), rank=RANK, world_size=RANKS)
    network = nn.parallel.DistributedDataParallel(Network())
    optimizer = torch.optim.SGD(network.parameters(), RATE)

    def step(dense, ids, label):
        optimizer.zero_grad()
        loss = network(torch.from_numpy(dense), torch.from_numpy(ids), torch.from_numpy(label))
        loss.backward()
        optimizer.step()
        return float(loss)
    return step


def main():
    step, data = {"skiff": skiff, "torch": torch}[KIND](), batches()
    for rows in data:
        step(*rows)
    begun = time.perf_counter()
    losses = [step(*data[i % len(data)]) for i in range(STEPS)]
    seconds = time.perf_counter() - begun
    if RANK == 0:
        print("%.0f %.4f" % (BATCH * RANKS * STEPS / seconds, np.mean(losses)), flush=True)


main()
