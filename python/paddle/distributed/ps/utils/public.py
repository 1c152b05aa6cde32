"""Tables and the variables they hold: {number: [names]}, of fleet.fleet._runtime_handle.context."""
from paddle import _names


def get_the_one_recv_context(context, is_dense=True, split_dense_table=False, use_origin_program=False):
    """Of the dense parameters (one table, after the sparse tables), or of the sparse tables."""
    runtime = context["runtime"]
    tables = runtime.table_names()
    if is_dense:
        return {len(tables): runtime.dense_names()}
    return {number: [name] for number, name in enumerate(tables)}


def get_the_one_send_context(context, split_dense_table=False, use_origin_program=False, ep_list=None):
    """Of all of them."""
    found = get_the_one_recv_context(context, is_dense=False)
    found.update(get_the_one_recv_context(context))
    return found


__getattr__ = _names.guard(__name__)
