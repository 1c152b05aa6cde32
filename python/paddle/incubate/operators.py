"""paddle.incubate.operators"""
from paddle import _names


def graph_send_recv(x, src_index, dst_index, pool_type="sum", out_size=None, name=None):
    """The older name of paddle.geometric.send_u_recv."""
    from paddle.geometric import send
    return send("graph_send_recv", "pool_type", x, src_index, dst_index, pool_type, out_size, name)


def graph_reindex(x, neighbors, count, value_buffer=None, index_buffer=None, flag_buffer_hashtable=False, name=None):
    """The older name of paddle.geometric.reindex_graph."""
    from paddle.geometric import reindex_graph
    return reindex_graph(x, neighbors, count)


def graph_sample_neighbors(row, colptr, input_nodes, eids=None, perm_buffer=None, sample_size=-1, return_eids=False,
                           flag_perm_buffer=False, name=None):
    """The older name of paddle.geometric.sample_neighbors."""
    from paddle.geometric import sample_neighbors
    return sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)


def graph_khop_sampler(row, colptr, input_nodes, sample_sizes, sorted_eids=None, return_eids=False, name=None):
    """Neighbours of neighbours, so many at each step, with new numbers."""
    from paddle.geometric.sampling import khop_sampler
    return khop_sampler(row, colptr, input_nodes, sample_sizes, sorted_eids, return_eids)


def identity_loss(x, reduction="none"):
    """x as the loss: its sum, mean, or itself."""
    from paddle.tensor.math import sum
    from paddle.tensor.stat import mean
    kinds = {"sum": sum, 0: sum, "mean": mean, 1: mean, "none": lambda v: v, 2: lambda v: v}
    if reduction not in kinds:
        raise Exception("Unsupported reduction type.")
    return kinds[reduction](x)


def softmax_mask_fuse(x, mask, name=None):
    """softmax(x + mask)"""
    from paddle.nn.functional import softmax
    return softmax(x + mask)


def softmax_mask_fuse_upper_triangle(x):
    """softmax of x without what lies above the diagonal."""
    from paddle.nn.functional import softmax
    from paddle.tensor.creation import full_like, ones_like, tril
    from paddle.tensor.search import where
    return softmax(where(tril(ones_like(x)) == ones_like(x), x, full_like(x, -10000.0)))


__getattr__ = _names.guard(__name__)
