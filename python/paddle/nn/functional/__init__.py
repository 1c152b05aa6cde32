"""paddle.nn.functional: activations, losses, convolutions, norms as functions."""
from paddle import _names
from paddle.nn.functional import (activation, attention, common, conv, loss, loss_more, norm, pooling, steps, unpool, vision,
                                  volume)

FUNCTIONS = {
    "activation": "relu relu_ relu6 sigmoid tanh tanh_ softmax softmax_ log_softmax leaky_relu leaky_relu_ elu elu_ celu selu "
                  "gelu silu swish mish softplus softsign hardsigmoid hardswish hardtanh hardtanh_ hardshrink softshrink "
                  "tanhshrink thresholded_relu thresholded_relu_ log_sigmoid prelu rrelu maxout glu gumbel_softmax",
    "attention": "scaled_dot_product_attention",
    "common": "linear bilinear dropout dropout2d dropout3d alpha_dropout embedding one_hot cosine_similarity pairwise_distance "
              "pad zeropad2d sequence_mask label_smooth class_center_sample",
    "conv": "conv1d conv2d conv3d conv1d_transpose conv2d_transpose",
    "pooling": "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d "
               "adaptive_max_pool2d",
    "loss": "log_loss cross_entropy softmax_with_cross_entropy binary_cross_entropy binary_cross_entropy_with_logits "
            "square_error_cost mse_loss l1_loss smooth_l1_loss kl_div nll_loss margin_ranking_loss hsigmoid_loss",
    "loss_more": "sigmoid_focal_loss hinge_embedding_loss cosine_embedding_loss triplet_margin_loss "
                 "triplet_margin_with_distance_loss soft_margin_loss multi_label_soft_margin_loss multi_margin_loss "
                 "poisson_nll_loss gaussian_nll_loss dice_loss npair_loss",
    "norm": "layer_norm batch_norm instance_norm local_response_norm normalize",
    "volume": "conv3d_transpose adaptive_avg_pool3d adaptive_max_pool3d",
    "vision": "pixel_shuffle pixel_unshuffle channel_shuffle unfold fold interpolate upsample",
    "steps": "gather_tree temporal_shift",
    "unpool": "max_unpool1d max_unpool2d max_unpool3d",
}

for _module, _functions in FUNCTIONS.items():
    for _name in _functions.split():
        globals()[_name] = getattr(globals()[_module], _name)

__getattr__ = _names.guard(__name__)
