"""paddle.nn.layer: the modules of the layers."""
from paddle import _names
from paddle.nn.layer import activation, common, container, conv, layers, loss, norm, pooling, rnn, transformer, vision
from paddle.nn.layer.layers import Layer  # noqa: F401

LAYERS = {
    "layers": "Layer",
    "container": "Sequential LayerList LayerDict ParameterList ParameterDict",
    "common": "Identity Linear Bilinear Embedding Dropout Dropout2D Dropout3D AlphaDropout Flatten Unflatten CosineSimilarity "
              "PairwiseDistance",
    "norm": "LayerNorm GroupNorm InstanceNorm1D InstanceNorm2D InstanceNorm3D BatchNorm BatchNorm1D BatchNorm2D BatchNorm3D "
            "SyncBatchNorm LocalResponseNorm SpectralNorm",
    "conv": "Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose",
    "pooling": "MaxPool1D MaxPool2D AvgPool1D AvgPool2D AdaptiveMaxPool1D AdaptiveMaxPool2D AdaptiveAvgPool1D "
               "AdaptiveAvgPool2D MaxPool3D AvgPool3D AdaptiveAvgPool3D AdaptiveMaxPool3D MaxUnPool1D MaxUnPool2D "
               "MaxUnPool3D",
    "vision": "PixelShuffle PixelUnshuffle ChannelShuffle Unfold Fold Upsample UpsamplingNearest2D UpsamplingBilinear2D Pad1D "
              "Pad2D Pad3D ZeroPad2D",
    "activation": "ReLU ReLU6 Sigmoid Tanh Softsign Silu Swish Mish LogSigmoid Hardsigmoid Hardswish Tanhshrink Softmax "
                  "LogSoftmax LeakyReLU ELU CELU SELU GELU Softplus Hardtanh Hardshrink Softshrink ThresholdedReLU Maxout GLU "
                  "Softmax2D PReLU RReLU",
    "loss": "CrossEntropyLoss BCELoss BCEWithLogitsLoss MSELoss L1Loss SmoothL1Loss KLDivLoss NLLLoss MarginRankingLoss "
            "HingeEmbeddingLoss CosineEmbeddingLoss TripletMarginLoss TripletMarginWithDistanceLoss SoftMarginLoss "
            "MultiLabelSoftMarginLoss MultiMarginLoss PoissonNLLLoss GaussianNLLLoss HSigmoidLoss",
    "rnn": "RNNCellBase SimpleRNNCell LSTMCell GRUCell RNN BiRNN SimpleRNN LSTM GRU",
    "transformer": "MultiHeadAttention TransformerEncoderLayer TransformerEncoder TransformerDecoderLayer TransformerDecoder "
                   "Transformer",
}

for _module, _classes in LAYERS.items():
    for _name in _classes.split():
        globals()[_name] = getattr(globals()[_module], _name)

__getattr__ = _names.guard(__name__)
