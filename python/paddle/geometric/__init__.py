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

__getattr__ = _names.guard(__name__)
