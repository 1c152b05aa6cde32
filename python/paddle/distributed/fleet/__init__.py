"""paddle.distributed.fleet: workers and parameter servers, as in 2.x.

    fleet.init()
    optimizer = fleet.distributed_optimizer(optimizer, strategy)
    optimizer.minimize(loss)
    servers: fleet.init_server(); fleet.run_server()
    workers: exe.run(startup); fleet.init_worker(); train; fleet.stop_worker()

Nothing is loaded before it is asked for: a data generator (fleet.MultiSlotDataGenerator) must start fast.
"""
from paddle import _names

_WHERE = {"fleet": "paddle.distributed.fleet._fleet", "Fleet": "paddle.distributed.fleet._fleet",
          "util": "paddle.distributed.fleet._fleet", "UtilBase": "paddle.distributed.fleet._fleet:Util",
          "DistributedStrategy": "paddle.distributed.fleet.base.distributed_strategy"}
#: calls of the one fleet of this process
CALLS = ("init is_first_worker worker_index worker_num is_worker worker_endpoints server_num server_index server_endpoints "
         "is_server is_coordinator barrier_worker init_worker init_server run_server stop_worker save_persistables "
         "save_inference_model load_inference_model load_model distributed_optimizer distributed_model minimize all_reduce "
         "shrink rank nranks world_size local_rank node_num save_one_table load_one_table save_cache_model save_cache_table "
         "save_dense_params check_save_pre_patch_done revert").split()
for _word in CALLS:
    _WHERE[_word] = "paddle.distributed.fleet._fleet"
for _word in "Role PaddleCloudRoleMaker UserDefinedRoleMaker".split():
    _WHERE[_word] = "paddle.distributed.fleet.base.role_maker"
for _word in "QueueDataset InMemoryDataset DatasetBase".split():
    _WHERE[_word] = "paddle.distributed.fleet.dataset"
for _word in "MultiSlotDataGenerator MultiSlotStringDataGenerator DataGenerator".split():
    _WHERE[_word] = "paddle.distributed.fleet.data_generator"

__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("base", "dataset", "metrics", "data_generator", "utils",
                                                         "proto"))
