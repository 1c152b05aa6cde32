"""GeoSgdTranspiler: trainers train alone and exchange differences every geo_sgd_need_push_nums batches."""
from paddle import _names
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspiler, DistributeTranspilerConfig

__all__ = ["GeoSgdTranspiler"]


class GeoSgdTranspiler(DistributeTranspiler):
    """DistributeTranspiler whose config is for GEO."""

    def __init__(self, config=None):
        config = DistributeTranspilerConfig() if config is None else config
        DistributeTranspiler.__init__(self, config)
        config.sync_mode = False
        config.runtime_split_send_recv = config.geo_sgd_mode = True

    def transpile(self, trainer_id, program=None, pservers="127.0.0.1:6174", trainers=1, sync_mode=False,
                  startup_program=None, current_endpoint="127.0.0.1:6174"):
        DistributeTranspiler.transpile(self, trainer_id, program, pservers, trainers, False, startup_program, current_endpoint)

    @property
    def trainer_startup_program(self):
        self.get_trainer_program()
        return self._trainer.startup


__getattr__ = _names.guard(__name__)
