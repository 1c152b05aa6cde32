"""paddle.incubate: layers of CTR and tree models, messages along the edges of graphs."""
from paddle import _names

_WHERE = {"graph_send_recv": "paddle.incubate.operators"}
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("layers", "operators"))
