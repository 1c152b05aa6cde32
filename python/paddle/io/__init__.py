"""paddle.io: datasets, samplers and loaders."""
from paddle import _names
from paddle.io.collate import default_collate_fn, default_convert_fn  # noqa: F401
from paddle.io.dataloader import DataLoader  # noqa: F401
from paddle.io.dataset import (ChainDataset, ComposeDataset, ConcatDataset, Dataset, IterableDataset, Subset,  # noqa: F401
                               TensorDataset, random_split)
from paddle.io.sampler import (BatchSampler, DistributedBatchSampler, RandomSampler, Sampler, SequenceSampler,  # noqa: F401
                               SubsetRandomSampler, WeightedRandomSampler)
from paddle.io.worker import WorkerInfo, get_worker_info  # noqa: F401

__getattr__ = _names.guard(__name__)
