"""paddle.nn.functional: activations, losses, convolutions, norms as functions."""
from paddle import _names
from paddle.nn.functional import activation, common, conv, loss, norm

FUNCTIONS = {
    "activation": "relu relu_ relu6 sigmoid tanh tanh_ softmax softmax_ log_softmax leaky_relu elu selu gelu silu swish "
                  "softplus softsign hardsigmoid log_sigmoid prelu",
    "common": "linear dropout embedding one_hot cosine_similarity pad sequence_mask label_smooth",
    "conv": "conv1d conv2d max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d "
            "adaptive_max_pool1d adaptive_max_pool2d",
    "loss": "log_loss cross_entropy softmax_with_cross_entropy binary_cross_entropy binary_cross_entropy_with_logits "
            "square_error_cost mse_loss l1_loss smooth_l1_loss kl_div nll_loss margin_ranking_loss",
    "norm": "layer_norm batch_norm normalize",
}

for _module, _functions in FUNCTIONS.items():
    for _name in _functions.split():
        globals()[_name] = getattr(globals()[_module], _name)

__getattr__ = _names.guard(__name__)
