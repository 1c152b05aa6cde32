"""paddle.incubate.operators"""
from paddle import _names


def graph_send_recv(x, src_index, dst_index, pool_type="sum", out_size=None, name=None):
    """The older name of paddle.geometric.send_u_recv."""
    from paddle.geometric import send
    return send("graph_send_recv", "pool_type", x, src_index, dst_index, pool_type, out_size, name)


__getattr__ = _names.guard(__name__)
