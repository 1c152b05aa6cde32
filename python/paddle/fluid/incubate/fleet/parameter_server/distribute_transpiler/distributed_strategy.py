"""Strategies: when workers and servers exchange what."""
import os

from paddle import _names
from paddle.fluid.compiler import BuildStrategy, ExecutionStrategy
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig, ServerRuntimeConfig

__all__ = ["TrainerRuntimeConfig", "DistributedStrategy", "SyncStrategy", "AsyncStrategy", "HalfAsyncStrategy",
           "GeoStrategy", "StrategyFactory"]


class TrainerRuntimeConfig(object):
    """The communicator's numbers, from FLAGS_communicator_* or CPU_NUM."""

    _KEYS = ("max_merge_var_num", "send_queue_size", "independent_recv_thread", "min_send_grad_num_before_recv",
             "thread_pool_size", "send_wait_times", "is_sgd_optimizer")

    def __init__(self):
        self.mode = None
        cpu_num = os.getenv("CPU_NUM", "1")
        defaults = {"independent_recv_thread": "1", "thread_pool_size": "5", "send_wait_times": "5", "is_sgd_optimizer": "1"}
        self.runtime_configs = {"communicator_" + key: os.getenv("FLAGS_communicator_" + key, defaults.get(key, cpu_num))
                                for key in self._KEYS}
        for key, value in (("rpc_deadline", "180000"), ("rpc_retry_times", "3")):  # here, too: the environment's count
            self.runtime_configs[key] = os.getenv("FLAGS_" + key, value)

    def get_communicator_flags(self):
        """The flags that the mode uses."""
        used = ["thread_pool_size", "send_wait_times"]
        if self.mode in ("SYNC", "HALF_ASYNC"):
            used += ["max_merge_var_num", "send_queue_size"]
        keys = ["communicator_" + key for key in used] if self.mode in ("SYNC", "HALF_ASYNC", "GEO") else self.runtime_configs
        return {key: str(self.runtime_configs[key]) for key in keys}

    def display(self, configs):
        return "\n".join("%-45s %s" % item for item in sorted(configs.items())) + "\n"

    def __repr__(self):
        return self.display(self.get_communicator_flags())

    def _numbers(self):
        """For the native strategy, where 0 means the default and -1 means 0."""
        values = {key: int(self.runtime_configs["communicator_" + key]) for key in self._KEYS}
        return {key: value if value else -1 for key, value in values.items()}


class DistributedStrategy(object):
    """Base of all."""

    _mode = "sync"

    def __init__(self):
        self._program_config = DistributeTranspilerConfig()
        self._trainer_runtime_config = TrainerRuntimeConfig()
        self._server_runtime_config = ServerRuntimeConfig()
        self._execute_strategy = ExecutionStrategy()
        self._build_strategy = BuildStrategy()
        self._execute_strategy.num_threads = int(os.getenv("CPU_NUM", "1"))
        if self._execute_strategy.num_threads > 1:
            self._build_strategy.reduce_strategy = BuildStrategy.ReduceStrategy.Reduce
        self.debug_opt = None

    def set_debug_opt(self, opt_info):
        self.debug_opt = opt_info

    def get_debug_opt(self):
        return dict(self.debug_opt or {})

    def get_program_config(self):
        return self._program_config

    def set_program_config(self, config):
        self._set(self._program_config, config, DistributeTranspilerConfig, "_program_config")
        self.check_program_config()

    def get_trainer_runtime_config(self):
        return self._trainer_runtime_config

    def set_trainer_runtime_config(self, config):
        if isinstance(config, TrainerRuntimeConfig):
            self._trainer_runtime_config = config
        elif isinstance(config, dict):
            for key, value in config.items():
                if key not in self._trainer_runtime_config.runtime_configs:
                    raise ValueError("TrainerRuntimeConfig doesn't have key: {}".format(key))
                self._trainer_runtime_config.runtime_configs[key] = value
        else:
            raise TypeError("trainer_runtime_config only accept input type: dict or TrainerRuntimeConfig")
        self.check_trainer_runtime_config()

    def get_server_runtime_config(self):
        return self._server_runtime_config

    def set_server_runtime_config(self, config):
        self._set(self._server_runtime_config, config, ServerRuntimeConfig, "_server_runtime_config")
        self.check_server_runtime_config()

    def get_execute_strategy(self):
        return self._execute_strategy

    def set_execute_strategy(self, config):
        self._set(self._execute_strategy, config, ExecutionStrategy, "_execute_strategy")
        self.check_execute_strategy()

    def get_build_strategy(self):
        return self._build_strategy

    def set_build_strategy(self, config):
        self._set(self._build_strategy, config, BuildStrategy, "_build_strategy")
        self.check_build_strategy()

    def _set(self, current, config, kind, name):
        if isinstance(config, kind):
            setattr(self, name, config)
        elif isinstance(config, dict):
            for key, value in config.items():
                if not hasattr(current, key):
                    raise ValueError("{} doesn't have key: {}".format(kind.__name__, key))
                setattr(current, key, value)
        else:
            raise TypeError("{} only accept input type: dict or {}".format(name.lstrip("_"), kind.__name__))

    def check_program_config(self):
        pass

    def check_trainer_runtime_config(self):
        pass

    def check_server_runtime_config(self):
        pass

    def check_execute_strategy(self):
        pass

    def check_build_strategy(self):
        pass

    def _native(self):
        """The fields of struct skiff_strategy."""
        config = self._program_config
        fields = config._fields()
        strategy = {"mode": self._mode, "geo_steps": fields["geo_sgd_need_push_nums"],
                    "no_slice": not fields["slice_var_up"], "min_block_size": fields["min_block_size"],
                    "split_method": fields["split_method"], "dc_asgd": fields["enable_dc_asgd"],
                    "threads": int(os.getenv("CPU_NUM", "1"))}
        strategy.update(self._trainer_runtime_config._numbers())
        return strategy


class SyncStrategy(DistributedStrategy):
    """Every step waits for all workers."""

    _mode = "sync"

    def __init__(self):
        DistributedStrategy.__init__(self)
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        self._program_config.half_async = True
        self._program_config.completely_not_async = True
        self._trainer_runtime_config.mode = "SYNC"
        self._execute_strategy.use_thread_barrier = True
        self._build_strategy.async_mode = True


class HalfAsyncStrategy(DistributedStrategy):
    """The threads of a worker wait for each other in every step; workers do not wait for each other."""

    _mode = "half_async"

    def __init__(self):
        DistributedStrategy.__init__(self)
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        self._program_config.half_async = True
        self._trainer_runtime_config.mode = "HALF_ASYNC"
        self._execute_strategy.use_thread_barrier = True
        self._build_strategy.async_mode = True


class AsyncStrategy(DistributedStrategy):
    """No worker waits."""

    _mode = "async"

    def __init__(self):
        DistributedStrategy.__init__(self)
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        self._trainer_runtime_config.mode = "ASYNC"
        self._build_strategy.async_mode = True


class GeoStrategy(DistributedStrategy):
    """Workers train alone and exchange differences every update_frequency batches; the optimizer must be SGD."""

    _mode = "geo"

    def __init__(self, update_frequency=100):
        DistributedStrategy.__init__(self)
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        self._program_config.geo_sgd_mode = True
        self._program_config.geo_sgd_need_push_nums = update_frequency
        self._trainer_runtime_config.mode = "GEO"
        self._build_strategy.async_mode = True


class StrategyFactory(object):
    @staticmethod
    def create_sync_strategy():
        return SyncStrategy()

    @staticmethod
    def create_half_async_strategy():
        return HalfAsyncStrategy()

    @staticmethod
    def create_async_strategy():
        return AsyncStrategy()

    @staticmethod
    def create_geo_strategy(update_frequency=100):
        return GeoStrategy(update_frequency)


def strategy_of(config):
    """The strategy that a DistributeTranspilerConfig means."""
    if isinstance(config, DistributedStrategy):
        return config
    if config is None:
        return SyncStrategy()
    if not isinstance(config, DistributeTranspilerConfig):
        raise TypeError("In {} mode, strategy must be an instance of DistributeTranspilerConfig or DistributedStrategy, but got "
                        "{}".format("parameter server", type(config)))
    if config.sync_mode:
        strategy = SyncStrategy()
    elif config.geo_sgd_mode and config.runtime_split_send_recv:
        strategy = GeoStrategy(config.geo_sgd_need_push_nums)
    elif config.runtime_split_send_recv and not config.half_async:
        strategy = AsyncStrategy()
    else:
        strategy = HalfAsyncStrategy()
    for key in ("slice_var_up", "split_method", "min_block_size", "enable_dc_asgd", "print_log", "wait_port"):
        setattr(strategy._program_config, key, getattr(config, key))
    return strategy


__getattr__ = _names.guard(__name__)
