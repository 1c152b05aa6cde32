"""Neighbours of nodes in a graph of columns (colptr, row), and new numbers for them. Their number depends on the data: eager mode."""
import numpy as np

from paddle import _names
from paddle._mode import mode


def _eager(where):
    if not mode.eager:
        raise NotImplementedError("%s: its sizes depend on the data; Skiff has it in eager mode only" % where)


def _tensor(array, dtype):
    from paddle.tensor.creation import to_tensor
    return to_tensor(np.asarray(array, dtype))


def _generator():
    """Draws that follow paddle.seed."""
    from paddle.tensor.random import randint
    return np.random.RandomState(int(randint(0, 2 ** 31 - 1, [1], "int64").numpy()[0]))


def _sample(row, colptr, nodes, size, weights, eids, return_eids, where):
    _eager(where)
    if return_eids and eids is None:
        raise ValueError("`eids` should not be None if `return_eids` is True.")
    kind = row.numpy().dtype
    row, colptr, nodes = (v.numpy().ravel() for v in (row, colptr, nodes))
    chance = None if weights is None else weights.numpy().ravel().astype("float64")
    chosen, counts, draw = [], [], None
    for node in nodes:
        begin, end = int(colptr[node]), int(colptr[node + 1])
        places = np.arange(begin, end)
        if 0 <= size < end - begin:
            draw = draw or _generator()
            if chance is None:
                places = draw.choice(places, size, replace=False)
            else:  # the largest keys u^(1/w): a draw without replacement by weight
                keys = np.log(draw.uniform(1e-12, 1.0, end - begin)) / np.maximum(chance[begin:end], 1e-12)
                places = places[np.argsort(-keys)[:size]]
        chosen.append(places)
        counts.append(len(places))
    places = np.concatenate(chosen).astype("int64") if chosen else np.zeros(0, "int64")
    out = (_tensor(row[places], kind), _tensor(counts, "int32"))
    return out + (_tensor(eids.numpy().ravel()[places], kind),) if return_eids else out


def sample_neighbors(row, colptr, input_nodes, sample_size=-1, eids=None, return_eids=False, perm_buffer=None, name=None):
    """(up to sample_size neighbours of every node, how many each has, and their edges when asked for)"""
    return _sample(row, colptr, input_nodes, sample_size, None, eids, return_eids, "sample_neighbors")


def weighted_sample_neighbors(row, colptr, edge_weight, input_nodes, sample_size=-1, eids=None, return_eids=False, name=None):
    """sample_neighbors, where heavier edges are drawn more often."""
    return _sample(row, colptr, input_nodes, sample_size, edge_weight, eids, return_eids, "weighted_sample_neighbors")


def _numbers(x, others):
    """Nodes in the order in which they are first met, and the number of each."""
    order = {}
    for node in x:
        order.setdefault(int(node), len(order))
    for node in others:
        order.setdefault(int(node), len(order))
    return order


def reindex_heter_graph(x, neighbors, count, value_buffer=None, index_buffer=None, name=None):
    """reindex_graph for several kinds of edges with the same nodes."""
    _eager("reindex_graph")
    kind = x.numpy().dtype
    nodes, lists, counts = x.numpy().ravel(), [n.numpy().ravel() for n in neighbors], [c.numpy().ravel() for c in count]
    order = _numbers(nodes, np.concatenate(lists) if lists else ())
    sources = [order[int(node)] for part in lists for node in part]
    targets = np.concatenate([np.repeat(np.arange(len(part)) % max(len(nodes), 1), part) for part in counts]) if counts else []
    return _tensor(sources, kind), _tensor(targets, kind), _tensor(list(order), kind)


def reindex_graph(x, neighbors, count, value_buffer=None, index_buffer=None, name=None):
    """(new numbers of the neighbours, of the nodes they belong to, all nodes in the order of their numbers)"""
    return reindex_heter_graph(x, [neighbors], [count])


def khop_sampler(row, colptr, input_nodes, sample_sizes, sorted_eids=None, return_eids=False):
    """Neighbours of neighbours: (edges' sources, edges' targets, nodes, numbers of the input nodes[, edges])"""
    _eager("graph_khop_sampler")
    kind = row.numpy().dtype
    front, sources, targets, edges = [int(n) for n in input_nodes.numpy().ravel()], [], [], []
    order = _numbers(front, ())
    for size in sample_sizes:
        found = _sample(row, colptr, _tensor(front, kind), size, None, sorted_eids if return_eids else None, return_eids,
                        "graph_khop_sampler")
        neighbours, counts = (v.numpy() for v in found[:2])
        edges += found[2].numpy().tolist() if return_eids else []
        fresh = []
        for node, neighbour in zip(np.repeat(front, counts), neighbours):
            if int(neighbour) not in order:
                order[int(neighbour)] = len(order)
                fresh.append(int(neighbour))
            sources.append(order[int(neighbour)])
            targets.append(order[int(node)])
        front = fresh
    numbers = [order[int(n)] for n in input_nodes.numpy().ravel()]
    out = (_tensor(np.reshape(sources, [-1, 1]), kind), _tensor(np.reshape(targets, [-1, 1]), kind), _tensor(list(order), kind),
           _tensor(numbers, kind))
    return out + (_tensor(np.reshape(edges, [-1, 1]), kind),) if return_eids else out


__getattr__ = _names.guard(__name__)
