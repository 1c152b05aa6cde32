"""paddle.nn.layer: the modules of the layers."""
from paddle import _names
from paddle.nn.layer import activation, common, container, layers, rnn, transformer
from paddle.nn.layer.layers import Layer  # noqa: F401

LAYERS = {
    "layers": "Layer",
    "container": "Sequential LayerList LayerDict ParameterList",
    "common": "Identity Linear Embedding Dropout Flatten CosineSimilarity LayerNorm BatchNorm BatchNorm1D BatchNorm2D Conv1D "
              "Conv2D MaxPool1D MaxPool2D AvgPool1D AvgPool2D AdaptiveMaxPool1D AdaptiveMaxPool2D AdaptiveAvgPool1D "
              "AdaptiveAvgPool2D",
    "activation": "ReLU ReLU6 Sigmoid Tanh Softsign Silu Swish LogSigmoid Softmax LogSoftmax LeakyReLU ELU SELU GELU Softplus "
                  "Hardsigmoid PReLU CrossEntropyLoss BCELoss BCEWithLogitsLoss MSELoss L1Loss SmoothL1Loss KLDivLoss NLLLoss "
                  "MarginRankingLoss",
    "rnn": "RNNCellBase SimpleRNNCell LSTMCell GRUCell RNN BiRNN SimpleRNN LSTM GRU",
    "transformer": "MultiHeadAttention TransformerEncoderLayer",
}

for _module, _classes in LAYERS.items():
    for _name in _classes.split():
        globals()[_name] = getattr(globals()[_module], _name)

__getattr__ = _names.guard(__name__)
