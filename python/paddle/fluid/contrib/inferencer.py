"""fluid.contrib.Inferencer (0.14 to 1.7): a network with the parameters that Trainer.save_params wrote."""
from paddle import _names
from paddle.fluid import core, executor, framework, io, unique_name

__all__ = ["Inferencer"]


class Inferencer(object):
    def __init__(self, infer_func, param_path, place=None, parallel=False):
        self.param_path = param_path
        self.scope = core.Scope()
        self.parallel = parallel
        self.place = place
        self.inference_program = framework.Program()
        with framework.program_guard(self.inference_program), unique_name.guard():
            self.predict_var = infer_func()
        self.exe = executor.Executor(self.place)
        with executor.scope_guard(self.scope):
            io.load_params(self.exe, param_path, self.inference_program)
        self.inference_program = self.inference_program.clone(for_test=True)

    def infer(self, inputs, return_numpy=True):
        """inputs: {name: array}."""
        if not isinstance(inputs, dict):
            raise ValueError("inputs should be a map of {'input_name': input_var}")
        with executor.scope_guard(self.scope):
            return self.exe.run(self.inference_program, feed=inputs, fetch_list=[self.predict_var.name],
                                return_numpy=return_numpy)


__getattr__ = _names.guard(__name__)
