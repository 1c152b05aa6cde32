"""Losses as layers."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn.layer._declared import layer
from paddle.nn.layer.layers import Layer


def _loss(function, class_name, *fields, **options):
    """A loss with the fields of its function; a reduction is checked when the layer is made."""
    made = layer(function, class_name, "nn.functional.%s as a layer." % function.__name__, fields, options.pop("prefix", ""),
                 shown=(), inputs=options.pop("inputs", 2), **options)
    known = ("sum", "mean", "none") + (("batchmean",) if class_name == "KLDivLoss" else ())
    begin = made.__init__

    def __init__(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        reduction = self.__dict__.get("reduction", self.__dict__.get("_reduction", "mean"))
        if reduction not in known and class_name not in ("MSELoss", "SmoothL1Loss"):
            raise ValueError("The value of 'reduction' in %s should be %s, but received %s, which is not allowed." %
                             (class_name, ", ".join("'%s'" % word for word in known), reduction))

    def extra_repr(self):
        return ""

    made.__init__, made.extra_repr = __init__, extra_repr
    return made


_MEAN = ("reduction", "mean")
CrossEntropyLoss = _loss(F.cross_entropy, "CrossEntropyLoss", ("weight", None), ("ignore_index", -100), _MEAN,
                         ("soft_label", False), ("axis", -1), ("use_softmax", True), ("label_smoothing", 0.0))
BCELoss = _loss(F.binary_cross_entropy, "BCELoss", ("weight", None), _MEAN)
BCEWithLogitsLoss = _loss(F.binary_cross_entropy_with_logits, "BCEWithLogitsLoss", ("weight", None), _MEAN,
                          ("pos_weight", None))
MSELoss = _loss(F.mse_loss, "MSELoss", _MEAN, named=False)
L1Loss = _loss(F.l1_loss, "L1Loss", _MEAN)
SmoothL1Loss = _loss(F.smooth_l1_loss, "SmoothL1Loss", _MEAN, ("delta", 1.0))
KLDivLoss = _loss(F.kl_div, "KLDivLoss", _MEAN, named=False)
NLLLoss = _loss(F.nll_loss, "NLLLoss", ("weight", None), ("ignore_index", -100), _MEAN, prefix="_")
MarginRankingLoss = _loss(F.margin_ranking_loss, "MarginRankingLoss", ("margin", 0.0), _MEAN, inputs=3)
HingeEmbeddingLoss = _loss(F.hinge_embedding_loss, "HingeEmbeddingLoss", ("margin", 1.0), _MEAN)
CosineEmbeddingLoss = _loss(F.cosine_embedding_loss, "CosineEmbeddingLoss", ("margin", 0), _MEAN, inputs=3)
TripletMarginLoss = _loss(F.triplet_margin_loss, "TripletMarginLoss", ("margin", 1.0), ("p", 2.0), ("epsilon", 1e-6),
                          ("swap", False), _MEAN, inputs=3)
TripletMarginWithDistanceLoss = _loss(F.triplet_margin_with_distance_loss, "TripletMarginWithDistanceLoss",
                                      ("distance_function", None), ("margin", 1.0), ("swap", False), _MEAN, inputs=3)
SoftMarginLoss = _loss(F.soft_margin_loss, "SoftMarginLoss", _MEAN)
MultiLabelSoftMarginLoss = _loss(F.multi_label_soft_margin_loss, "MultiLabelSoftMarginLoss", ("weight", None), _MEAN)
MultiMarginLoss = _loss(F.multi_margin_loss, "MultiMarginLoss", ("p", 1), ("margin", 1.0), ("weight", None), _MEAN)
PoissonNLLLoss = _loss(F.poisson_nll_loss, "PoissonNLLLoss", ("log_input", True), ("full", False), ("epsilon", 1e-8), _MEAN)
GaussianNLLLoss = _loss(F.gaussian_nll_loss, "GaussianNLLLoss", ("full", False), ("epsilon", 1e-6), _MEAN, inputs=3)


class HSigmoidLoss(Layer):
    """The loss of a tree of binary decisions over num_classes classes."""

    def __init__(self, feature_size, num_classes, weight_attr=None, bias_attr=None, is_custom=False, is_sparse=False,
                 name=None):
        super(HSigmoidLoss, self).__init__()
        if num_classes < 2 and not is_custom:
            raise ValueError("num_classes must not be less than 2 with default tree")
        self._feature_size, self._num_classes, self._is_custom = feature_size, num_classes, is_custom
        self._is_sparse, self._name = is_sparse, name
        nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([nodes, feature_size], weight_attr)
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input, label, path_table=None, path_code=None):
        return F.hsigmoid_loss(input, label, self._num_classes, self.weight, self.bias, path_table, path_code,
                               self._is_sparse, self._name)


__getattr__ = _names.guard(__name__)
