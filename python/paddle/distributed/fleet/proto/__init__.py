"""paddle.distributed.fleet.proto"""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("index_dataset_pb2",))
