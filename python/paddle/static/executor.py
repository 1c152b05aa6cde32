"""The executor of 2.x: fluid's, with the stream of paddle.seed and learning rate schedules."""
from skiff import _native

from paddle import _names, framework
from paddle.fluid import executor as _fluid


class Executor(_fluid.Executor):
    """Runs programs on the CPU."""

    def __init__(self, place=None):
        super(Executor, self).__init__(place)
        self._seeded = None
        self._seed_again()

    def _seed_again(self):
        """paddle.seed after this executor was made: its stream begins anew."""
        seed = framework.current_seed()
        if seed is not None and seed != self._seeded:
            self._seeded = seed
            self._native = _native.Executor(_fluid.global_scope(), seed=seed[0])

    @staticmethod
    def _set_rate(program, scope):
        schedule = program.__dict__.get("lr_scheduler") if isinstance(program, framework.Program) else None
        if schedule is not None:
            import numpy
            scope = _fluid.global_scope() if scope is None else scope
            scope.set(program.lr_var.name, numpy.array(schedule(), "float32"))

    def run(self, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None,
            return_numpy=True, use_program_cache=False, use_prune=False, **ignored):
        """Runs a program once; gives the fetched values."""
        self._seed_again()
        program = framework._fluid.default_main_program() if program is None else program
        self._set_rate(getattr(program, "_program", program), scope)
        return super(Executor, self).run(program=program, feed=feed, fetch_list=fetch_list, scope=scope,
                                         return_numpy=return_numpy, use_prune=use_prune)

    def flush(self):
        """Nothing waits: what a run trains is there when it returns."""

    def _from_dataset(self, call, program, *args, **kwargs):
        self._seed_again()
        program = framework._fluid.default_main_program() if program is None else program
        self._set_rate(getattr(program, "_program", program), args[1] if len(args) > 1 else None)
        infer = call.__name__ == "infer"
        call = self._native.infer if infer else self._native.train
        if infer:
            program = program.__dict__.get("_infer_as", program)
        return super(Executor, self)._from_dataset(call, program, *args, **kwargs)


__getattr__ = _names.guard(__name__)
