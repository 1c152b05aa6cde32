"""Datasets: samples by number, or one after the other."""
import bisect


class Dataset(object):
    """Samples by number: __getitem__ and __len__ are the user's."""

    def __getitem__(self, idx):
        raise NotImplementedError("'__getitem__' not implement in class %s" % type(self).__name__)

    def __len__(self):
        raise NotImplementedError("'__len__' not implement in class %s" % type(self).__name__)


class IterableDataset(Dataset):
    """Samples one after the other: __iter__ is the user's."""

    def __iter__(self):
        raise NotImplementedError("'__iter__' not implement in class %s" % type(self).__name__)

    def __getitem__(self, idx):
        raise RuntimeError("'__getitem__' should not be called for IterableDataset %s" % type(self).__name__)

    def __len__(self):
        raise RuntimeError("'__len__' should not be called for IterableDataset %s" % type(self).__name__)


class TensorDataset(Dataset):
    """Rows of arrays of the same length."""

    def __init__(self, tensors):
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError("tensors not have same shape of the 1st dimension")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class ComposeDataset(Dataset):
    """The fields of several datasets side by side."""

    def __init__(self, datasets):
        self.datasets = _list_of(datasets, Dataset, "each input dataset should be paddle.io.Dataset")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("paddle.io.IterableDataset not supported")
        if any(len(d) != len(self.datasets[0]) for d in self.datasets):
            raise AssertionError("lengths of datasets should be same")

    def __len__(self):
        return len(self.datasets[0])

    def __getitem__(self, idx):
        sample = []
        for dataset in self.datasets:
            fields = dataset[idx]
            sample.extend(fields if isinstance(fields, (list, tuple)) else [fields])
        return tuple(sample)


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = _list_of(datasets, IterableDataset, "ChainDataset only support paddle.io.IterableDataset")

    def __iter__(self):
        for dataset in self.datasets:
            yield from dataset


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = _list_of(datasets, object, "")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = []
        for dataset in self.datasets:
            self.cumulative_sizes.append(len(dataset) + (self.cumulative_sizes or [0])[-1])

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        idx = idx + len(self) if idx < 0 else idx
        if idx >= len(self):
            raise IndexError("row %d of a ConcatDataset of %d rows" % (idx, len(self)))
        at = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[at][idx - (self.cumulative_sizes[at - 1] if at else 0)]


class Subset(Dataset):
    """Some samples of a dataset."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        return self.dataset[self.indices[idx]]

    def __len__(self):
        return len(self.indices)


def _list_of(datasets, kind, what):
    datasets = list(datasets)
    if not datasets:
        raise AssertionError("input datasets should not be empty")
    if not all(isinstance(d, kind) for d in datasets):
        raise AssertionError(what)
    return datasets


def permutation(n):
    """0 .. n-1 in an order that paddle.seed decides: paddle.randperm."""
    from skiff import _native
    if n == 0:
        return []
    return _native.eager_one("randperm", {}, {"n": n, "dtype": 3, "seed": 0}, "Out").numpy().tolist()


def random_split(dataset, lengths, generator=None):
    """Disjoint parts, drawn at random."""
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = permutation(len(dataset))
    out, at = [], 0
    for n in lengths:
        out.append(Subset(dataset, order[at:at + n]))
        at += n
    return out
