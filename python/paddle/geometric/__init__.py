"""paddle.geometric: messages along the edges of graphs."""
from paddle import _names
from paddle._op import Call, need
from paddle.fluid.framework import Variable


def send(call, word, x, src_index, dst_index, how, out_size, name):
    """graph_send_recv; word: what its argument is called."""
    if how not in ("sum", "mean", "max", "min"):
        raise ValueError("%s should be `sum`, `mean`, `max` or `min`, but received %s" % (word, how))
    inputs = {"X": need(x, "X", "graph_send_recv"), "Src_index": need(src_index, "Src_index", "graph_send_recv"),
              "Dst_index": need(dst_index, "Dst_index", "graph_send_recv")}
    attrs = {"reduce_op": how.upper()}
    if isinstance(out_size, Variable):
        inputs["Out_size"] = out_size
    else:
        attrs["out_size"] = [0 if out_size is None else int(out_size)]
    made = Call(call, name)
    out, count = made.var(), made.var("int32", stop_gradient=True)
    made.op("graph_send_recv", inputs, {"Out": out, "Dst_count": count}, attrs)
    return out


def send_u_recv(x, src_index, dst_index, reduce_op="sum", out_size=None, name=None):
    """Row src_index[e] of x goes to row dst_index[e] of the result: their sum, mean, max or min, 0 where none came."""
    return send("send_u_recv", "reduce_op", x, src_index, dst_index, reduce_op, out_size, name)


def _segment(how):
    def function(data, segment_ids, name=None):
        call = Call("segment_" + how, name)
        out, counts = call.var(), call.var(stop_gradient=True)
        call.op("segment_pool", {"X": need(data, "X", "segment_pool"), "SegmentIds": need(segment_ids, "SegmentIds", "segment_pool")},
                {"Out": out, "SummedIds": counts}, {"pooltype": how.upper()})
        return out

    function.__name__ = function.__qualname__ = "segment_" + how
    function.__doc__ = "The %s of the rows of every segment; ids do not decrease." % how
    return function


segment_sum, segment_mean, segment_max, segment_min = [_segment(how) for how in ("sum", "mean", "max", "min")]

_MESSAGES = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}


def _message(kind, left, right):
    if kind not in _MESSAGES:
        raise ValueError("message_op should be `add`, `sub`, `mul`, `div`, but received %s" % kind)
    from paddle.tensor.manipulation import reshape
    ranks = [len(left.shape), len(right.shape)]
    if ranks[0] < ranks[1]:
        left = reshape(left, list(left.shape) + [1] * (ranks[1] - ranks[0]))
    if ranks[1] < ranks[0]:
        right = reshape(right, list(right.shape) + [1] * (ranks[0] - ranks[1]))
    return _MESSAGES[kind](left, right)


def send_ue_recv(x, y, src_index, dst_index, message_op="add", reduce_op="sum", out_size=None, name=None):
    """Row src_index[e] of x with row e of y (added, ...) goes to row dst_index[e]: their sum, mean, max or min."""
    from paddle.tensor.creation import arange
    from paddle.tensor.manipulation import cast, gather
    messages = _message(message_op, gather(need(x, "x", "send_ue_recv"), src_index), need(y, "y", "send_ue_recv"))
    edges = cast(arange(src_index.shape[0], dtype="int64"), src_index.dtype)
    return send("send_ue_recv", "reduce_op", messages, edges, dst_index, reduce_op, x.shape[0] if out_size is None else out_size,
                name)


def send_uv(x, y, src_index, dst_index, message_op="add", name=None):
    """Row src_index[e] of x with row dst_index[e] of y, for every edge."""
    from paddle.tensor.manipulation import gather
    return _message(message_op, gather(need(x, "x", "send_uv"), src_index), gather(need(y, "y", "send_uv"), dst_index))


_SAMPLING = {name: "paddle.geometric.sampling" for name in
             "sample_neighbors weighted_sample_neighbors reindex_graph reindex_heter_graph".split()}
__getattr__, __dir__ = _names.lazy(__name__, _SAMPLING)
