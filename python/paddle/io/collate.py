"""Samples become batches, batches become tensors."""
import numbers
from collections.abc import Mapping, Sequence

from paddle._tensor import Tensor


def default_collate_fn(batch):
    """Fields of samples, stacked."""
    import numpy
    sample = batch[0]
    if isinstance(sample, numpy.ndarray):
        return numpy.stack(batch, axis=0)
    if isinstance(sample, Tensor):
        return numpy.stack([s.numpy() for s in batch], axis=0)
    if isinstance(sample, (numbers.Number, numpy.generic)):
        return numpy.array(batch)
    if isinstance(sample, (str, bytes)):
        return batch
    if isinstance(sample, Mapping):
        return {key: default_collate_fn([d[key] for d in batch]) for key in sample}
    if isinstance(sample, Sequence):
        if any(len(s) != len(sample) for s in batch):
            raise RuntimeError("fields number not same among a batch data")
        return [default_collate_fn(fields) for fields in zip(*batch)]
    if hasattr(sample, "__array__"):
        return numpy.stack([numpy.asarray(s) for s in batch], axis=0)
    raise TypeError("batch data con only contains: tensor, numpy.ndarray, dict, list, number, but got %s" % type(sample))


def default_convert_fn(batch):
    """A sample as it is, sequences as lists."""
    if isinstance(batch, (str, bytes)):
        return batch
    if isinstance(batch, Mapping):
        return {key: default_convert_fn(value) for key, value in batch.items()}
    if isinstance(batch, Sequence):
        return [default_convert_fn(value) for value in batch]
    return batch


def _changed(batch, kind, change):
    """batch with every leaf of a kind changed; lists and tuples become lists."""
    if isinstance(batch, kind):
        return change(batch)
    if isinstance(batch, (list, tuple)):
        return [_changed(value, kind, change) for value in batch]
    if isinstance(batch, Mapping):
        return {key: _changed(value, kind, change) for key, value in batch.items()}
    return batch


def _tensor(array):
    out = Tensor()
    out.set(array)
    return out


def to_tensors(batch):
    """Arrays become tensors."""
    import numpy
    return _changed(batch, numpy.ndarray, _tensor)


def to_lod_tensors(batch):
    """Arrays become the tensors of static mode."""
    import numpy
    from paddle.fluid.core import LoDTensor
    return _changed(batch, numpy.ndarray, LoDTensor)


def to_arrays(batch):
    """Tensors become arrays: what goes through a pipe."""
    return _changed(batch, Tensor, Tensor.numpy)
