"""paddle.nn.utils: parameters as one vector, clipping by hand, weights by norm and direction."""
from paddle import _names
from paddle.nn.utils.hooks import remove_weight_norm, spectral_norm, weight_norm  # noqa: F401
from paddle.nn.utils.parameters import (clip_grad_norm_, clip_grad_value_, parameters_to_vector,  # noqa: F401
                                        vector_to_parameters)

__getattr__ = _names.guard(__name__)
