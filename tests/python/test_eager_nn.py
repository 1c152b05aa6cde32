"""paddle.nn and the random functions in dynamic graphs; numbers are those of Paddle 2.6.2."""
import copy
import pickle
import unittest
import warnings

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.nn import initializer as init


def ones(*shape):
    return paddle.ones(list(shape))


class Random(unittest.TestCase):
    def test_poisson(self):
        means = paddle.to_tensor([0.5, 3.0, 11.9, 12.0, 50.0, 1000.0] * 3)
        paddle.seed(7)
        self.assertEqual(paddle.poisson(means).numpy().tolist(),
                         [0, 7, 20, 11, 51, 1015, 0, 2, 9, 12, 48, 1031, 0, 2, 7, 13, 58, 985])
        paddle.seed(7)
        self.assertEqual(paddle.poisson(means.astype("float64")).numpy().tolist()[:6], [0, 7, 20, 11, 51, 1015])

    def test_exponential(self):
        paddle.seed(7)
        np.testing.assert_allclose(paddle.zeros([4]).exponential_(0.5).numpy(),
                                   [0.03000844642519951, 2.1452062129974365, 3.244426965713501, 1.2661759853363037], rtol=1e-6)
        np.testing.assert_allclose(paddle.zeros([2], "float64").exponential_(0.5).numpy(),
                                   [2.197394356026092, 5.190325025644182], rtol=1e-14)

    def test_bernoulli(self):
        paddle.seed(7)
        self.assertEqual(paddle.bernoulli(paddle.full([12], 0.4)).numpy().tolist(), [1] + [0] * 11)
        self.assertEqual(paddle.bernoulli(paddle.full([6], 0.4, "float64")).numpy().tolist(), [0, 1, 0, 0, 0, 0])
        np.testing.assert_allclose(paddle.rand([1]).numpy(), [0.9718183875083923], rtol=1e-6)

    def test_state(self):
        generator = paddle.seed(5)
        self.assertEqual(generator.initial_seed(), 5)
        paddle.rand([3])
        kept = pickle.loads(pickle.dumps(paddle.get_rng_state()))
        first = paddle.randn([5]).numpy()
        paddle.set_rng_state(kept)
        self.assertEqual(paddle.randn([5]).numpy().tolist(), first.tolist())
        self.assertEqual(kept[0].current_seed(), 5)
        self.assertEqual(paddle.get_cuda_rng_state(), [])

    def test_seed_counts_low_bits(self):
        paddle.seed(2 ** 32 + 1)
        first = paddle.rand([4]).numpy()
        paddle.seed(1)
        self.assertEqual(paddle.rand([4]).numpy().tolist(), first.tolist())


class Initializers(unittest.TestCase):
    def made(self, initializer, *shape, dtype="float32"):
        paddle.seed(7)
        return paddle.create_parameter(list(shape), dtype, default_initializer=initializer).numpy()

    def test_values(self):
        np.testing.assert_allclose(self.made(init.Orthogonal(2.0), 2, 3),
                                   [[-0.1475849151611328, 0.575181245803833, 1.9098130464553833],
                                    [1.958236813545227, 0.4055332541465759, 0.02919149398803711]], rtol=1e-4, atol=1e-6)
        dirac = self.made(init.Dirac(2), 4, 2, 3, dtype="float64")
        self.assertEqual(dirac.dtype, np.float64)
        self.assertEqual(np.argwhere(dirac == 1).tolist(), [[0, 0, 1], [1, 1, 1], [2, 0, 1], [3, 1, 1]])
        self.assertEqual(dirac.sum(), 4)
        np.testing.assert_allclose(self.made(init.Bilinear(), 1, 1, 2, 2).ravel(), [1.0, 0.0, 0.0, 0.0], atol=1e-6)

    def test_own_initializer_of_layers(self):
        layer = nn.Linear(2, 2, weight_attr=init.Assign(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])), bias_attr=False)
        self.assertEqual(layer(ones(1, 2)).numpy().tolist(), [[4.0, 6.0]])
        self.assertIsNone(layer.bias)


class Tower(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.more = nn.LayerList([nn.Linear(3, 3), nn.ReLU()])
        self.register_buffer("count", paddle.zeros([1]))
        self.note = paddle.ones([2])

    def forward(self, x):
        x = self.first(x)
        for layer in self.more:
            x = layer(x)
        return x


class Layers(unittest.TestCase):
    def test_state_and_copies(self):
        model = Tower()
        self.assertEqual(list(model.state_dict()), ["count", "first.weight", "first.bias", "more.0.weight", "more.0.bias"])
        self.assertEqual(list(model.to_static_state_dict())[:2], ["count", "note"])
        other = copy.deepcopy(model)
        self.assertRegex(other.first.weight.name, "^%s_deepcopy_[0-9]+$" % model.first.weight.name)
        x = paddle.to_tensor([[0.5, -1.0]])
        self.assertEqual(other(x).numpy().tolist(), model(x).numpy().tolist())
        model.first.weight.set_value(np.zeros((2, 3), "float32"))
        self.assertNotEqual(other.first.weight.numpy().tolist(), model.first.weight.numpy().tolist())
        again = pickle.loads(pickle.dumps(other))
        self.assertEqual(again(x).numpy().tolist(), other(x).numpy().tolist())

    def test_loading(self):
        model = Tower()
        state = {key: value.numpy() for key, value in model.state_dict().items()}
        state["first.bias"] = np.zeros([4], "float32")
        del state["count"]
        state["stranger"] = np.zeros([1], "float32")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            missing, unexpected = model.set_state_dict(state)
        self.assertEqual(missing, ["count", "first.bias"])
        self.assertEqual(unexpected, ["first.bias", "stranger"])
        self.assertEqual([str(w.message) for w in seen],
                         ["Skip loading for count. count is not found in the provided dict.",
                          "Skip loading for first.bias. first.bias receives a shape [4], but the expected shape is [3]."])

    def test_hooks(self):
        layer, calls = nn.Linear(2, 1), []
        before = layer.register_forward_pre_hook(lambda l, inputs: calls.append("before"))
        layer.register_forward_post_hook(lambda l, inputs, out: out * 2)
        plain = layer.forward(ones(1, 2)).numpy()
        self.assertEqual(layer(ones(1, 2)).numpy().tolist(), (plain * 2).tolist())
        before.remove()
        layer(ones(1, 2))
        self.assertEqual(calls, ["before"])
        kept = layer.register_state_dict_hook(lambda state: {"only": state["weight"]})
        self.assertEqual(list(layer.state_dict()), ["only"])
        kept.remove()

    def test_types(self):
        layer = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2)).to(dtype="float64")
        out = layer(paddle.ones([3, 2], "float64"))
        self.assertEqual(out.numpy().dtype, np.float64)
        self.assertEqual({p.numpy().dtype.name for p in layer.parameters()}, {"float64"})
        layer.float(excluded_layers=nn.BatchNorm1D)
        self.assertEqual([p.numpy().dtype.name for p in layer.parameters()][:3], ["float32", "float32", "float64"])
        with self.assertWarnsRegex(UserWarning, "does not support float16"):
            self.assertIs(layer.float16(), layer)

    def test_own_ops_by_the_helper(self):
        class Own(nn.Layer):
            def forward(self, x):
                out = self._helper.create_variable_for_type_inference("float32")
                self._helper.append_op(type="scale", inputs={"X": x}, outputs={"Out": out}, attrs={"scale": 3.0})
                return self._helper.append_activation(out, "relu")
        self.assertEqual(Own()(paddle.to_tensor([1.0, -1.0])).numpy().tolist(), [3.0, 0.0])

    def test_utils(self):
        layer = nn.Linear(2, 2)
        flat = nn.utils.parameters_to_vector(layer.parameters())
        nn.utils.vector_to_parameters(flat * 2, layer.parameters())
        np.testing.assert_allclose(nn.utils.parameters_to_vector(layer.parameters()).numpy(), 2 * flat.numpy())
        (layer(ones(1, 2)) * 10).sum().backward()
        self.assertAlmostEqual(nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item(), np.sqrt(6 * 100), places=4)
        self.assertAlmostEqual(sum((p.grad.numpy() ** 2).sum() for p in layer.parameters()), 1.0, places=4)
        nn.utils.clip_grad_value_(layer.parameters(), 0.1)
        self.assertLessEqual(max(np.abs(p.grad.numpy()).max() for p in layer.parameters()), 0.1 + 1e-7)

    def test_weight_norm(self):
        layer, x = nn.Linear(3, 2), paddle.to_tensor([[1.0, -2.0, 0.5]])
        before = layer(x).numpy()
        nn.utils.weight_norm(layer)
        self.assertEqual([name for name, _ in layer.named_parameters()], ["bias", "weight_v", "weight_g"])
        np.testing.assert_allclose(layer(x).numpy(), before, rtol=1e-5, atol=1e-6)
        layer(x).sum().backward()
        self.assertIsNotNone(layer.weight_g.grad)
        nn.utils.remove_weight_norm(layer)
        np.testing.assert_allclose(layer(x).numpy(), before, rtol=1e-5, atol=1e-6)
        nn.utils.spectral_norm(layer, n_power_iterations=30)
        layer(x)
        self.assertAlmostEqual(np.linalg.svd(layer.weight.numpy())[1][0], 1.0, places=4)


def _early():
    class Early(nn.Layer):
        def __init__(self):
            self.inner = nn.ReLU()
    Early()


def _buffer(name, value):
    return lambda: nn.Layer().register_buffer(name, value)


def _taken():
    nn.Linear(1, 1, weight_attr=paddle.ParamAttr(name="test_eager_nn_taken"))
    nn.Linear(1, 1, weight_attr=paddle.ParamAttr(name="test_eager_nn_taken"))


def _two_hooks():
    nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2)))


X = np.ones((2, 4), "float32")
#: (call, exception, words of the message)
REFUSED = [
    (_early, ValueError, r"super\(\).__init__\(\) should be called first"),
    (_taken, ValueError, "parameter name .test_eager_nn_taken. have be been used"),
    (_two_hooks, RuntimeError, "Cannot register two weight_norm hooks on the same parameter weight"),
    (_buffer("a.b", None), KeyError, "The name of buffer can not contain"),
    (_buffer("", None), KeyError, "The name of buffer can not be empty"),
    (_buffer(3, None), TypeError, "The name of buffer should be a string, but received int"),
    (_buffer("training", None), KeyError, "The buffer 'training' already exists"),
    (_buffer("b", 3), TypeError, "The registered buffer should be a Paddle.Tensor, but received int"),
    (lambda: nn.Layer().add_parameter("p", 3), TypeError, "The parameter to be added should be a Parameter, but received int"),
    (lambda: nn.Layer().add_sublayer("p", 3), AssertionError, "the sublayer must be a Layer"),
    (lambda: nn.Layer()(3), NotImplementedError, "Layer has no forward"),
    (lambda: nn.Layer().nothing, AttributeError, "'Layer' object has no attribute 'nothing'"),
    (lambda: setattr(nn.Linear(1, 1), "weight", 3), TypeError, "assignment to parameter 'weight' should be of type Parameter"),
    (lambda: setattr(nn.Sequential(nn.ReLU()), "0", 3), TypeError, "assignment to sublayer '0' should be of type Layer"),
    (lambda: nn.Layer().to(device=3), ValueError, "device value error"),
    (lambda: nn.Layer().astype("letters"), ValueError, "dtype value error"),
    (lambda: nn.Layer().float(excluded_layers=3), TypeError, "excluded_layers should be type nn.Layer or list"),
    (lambda: nn.Sequential(nn.ReLU())[4], IndexError, "index 4 is out of range"),
    (lambda: nn.LayerList([nn.ReLU()])[1], IndexError, r"index 1 is out of range, should be an integer in range \[-1, 1\)"),
    (lambda: nn.LayerList().insert(2, nn.ReLU()), AssertionError, "index should be an integer in range"),
    (lambda: nn.LayerDict([("a",)]), ValueError, "The length of the 0's element in sublayers is 1, which must be 2"),
    (lambda: nn.ParameterList([3]), AssertionError, "a Parameter is needed"),
    (lambda: nn.ReLU()(3, 4), TypeError, "ReLU takes 1 tensor, but got 2"),
    (lambda: nn.Maxout(), TypeError, "Maxout missing 1 required positional argument: 'groups'"),
    (lambda: nn.ELU(beta=2), TypeError, "ELU got an unexpected keyword argument 'beta'"),
    (lambda: nn.L1Loss("average"), ValueError, "The value of 'reduction' in L1Loss should be"),
    (lambda: nn.BatchNorm1D(3)(ones(2, 3, 4, 5)), ValueError, r"expected 2D or 3D input \(got 4D input\)"),
    (lambda: nn.Conv2D(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
    (lambda: nn.Conv2D(3, 4, 3, padding_mode="x"), ValueError, "padding_mode must be one of"),
    (lambda: nn.Embedding(4, 2, padding_idx=4), ValueError, r"padding_idx must be within \[-4, 4\)"),
    (lambda: nn.MultiHeadAttention(5, 2), AssertionError, "embed_dim must be divisible by num_heads"),
    (lambda: nn.Transformer(0), AssertionError, "Expected d_model to be greater than 0, but received 0"),
    (lambda: paddle.ParamAttr(name=3), TypeError, "The type of 'name' in ParamAttr must be str or None"),
    (lambda: paddle.ParamAttr(trainable=3), TypeError, "The type of 'trainable' in ParamAttr must be bool"),
    (lambda: paddle.ParamAttr(name=""), ValueError, "name of ParamAttr can not be empty str"),
    (lambda: init.set_global_initializer(3), TypeError, "The type of 'weight_init' in set_global_initializer"),
    (lambda: init.Assign(3), TypeError, "The type of 'value' in Assign must be"),
    (lambda: init.calculate_gain("sine"), ValueError, "nonlinearity function sine"),
    (lambda: init.Dirac(0), AssertionError, "'groups' must be a positive integer"),
    (lambda: paddle.create_parameter([2], "float32", default_initializer=init.Orthogonal()), AssertionError, "2 or more dimensions"),
    (lambda: paddle.set_rng_state([]), ValueError, "Length of cpu state list"),
    (lambda: paddle.set_rng_state([3]), TypeError, "set_state takes what get_state gave"),
    (lambda: paddle.bernoulli(paddle.to_tensor([0.5, 1.5])), ValueError, r"element 1 is 1.5, must be a probability"),
    (lambda: paddle.poisson(paddle.to_tensor([-1.0])), ValueError, "element 0 is -1, must be a mean of at least 0"),
    (lambda: paddle.zeros([1]).exponential_(0.0), ValueError, "attribute lambda is 0, must be above 0"),
    (lambda: paddle.randint(5, 5), ValueError, "randint's low must less then high"),
    (lambda: paddle.rand([2], "int64"), TypeError, "only supports"),
    (lambda: F.dropout(ones(2), 1.5), ValueError, "p argument should between 0 and 1"),
    (lambda: F.dropout(ones(2), 0.5, axis=3), ValueError, "axis value should be greater than or equal to 0"),
    (lambda: F.dropout2d(ones(2, 3)), ValueError, "dimensions of x should be 4, but received 2"),
    (lambda: F.celu(ones(2), 0), ZeroDivisionError, "alpha cannot be 0 for celu"),
    (lambda: F.softshrink(ones(2), -1), ValueError, "The threshold must be no less than zero"),
    (lambda: F.rrelu(ones(2), 0.5, 0.25), ValueError, "The upper value must be greater than lower value"),
    (lambda: F.glu(ones(2, 2), 2), ValueError, r"Expected value range of `axis` is \[-2, 2\)"),
    (lambda: F.prelu(ones(2, 3), ones(2)), AssertionError, "The weight size should be equal to x input channel"),
    (lambda: F.maxout(ones(2, 4, 1, 1), 2, 2), ValueError, "Attr.axis. should be 1"),
    (lambda: F.pad(ones(2, 2), [1], mode="x"), AssertionError, "mode should be one of"),
    (lambda: F.pad(ones(2, 2), [1]), AssertionError, "input tesor dimension must be in"),
    (lambda: F.conv2d(ones(2, 4, 8), ones(1, 4, 1, 1)), ValueError, "Input x should be 4D tensor"),
    (lambda: F.conv1d(ones(2, 4, 8), ones(1, 4, 1), groups=3), ValueError, "the channel of input must be divisible by groups"),
    (lambda: F.conv2d_transpose(ones(1, 1, 2, 2), ones(1, 1, 1, 1), output_padding=1, output_size=3), ValueError, "exclusive"),
    (lambda: F.max_pool2d(ones(1, 1, 2, 2), 2, data_format="X"), ValueError, "Attr.data_format. should be"),
    (lambda: F.avg_pool1d(ones(1, 2), 2), ValueError, "The input should have 3 dimensions"),
    (lambda: F.layer_norm(ones(2, 3), 4), ValueError, "Given normalized_shape is"),
    (lambda: F.interpolate(ones(1, 1, 2, 2)), ValueError, "One of size and scale_factor must not be None"),
    (lambda: F.interpolate(ones(1, 1, 2), 4), ValueError, "'nearest' only support 4-D or 5-D tensor"),
    (lambda: F.interpolate(ones(1, 1, 2, 2), [1, 2, 3]), ValueError, "size must be one number or 2"),
    (lambda: F.fold(ones(1, 4, 3), 4, 2), ValueError, "fold: windows of"),
    (lambda: F.pixel_shuffle(ones(1, 4, 2), 2), ValueError, "Input x should be 4D tensor"),
    (lambda: F.cross_entropy(ones(2, 3), paddle.to_tensor([0, 7])), IndexError, "element 1 is 7, must be in"),
    (lambda: F.cross_entropy(ones(2, 3), paddle.to_tensor([0, 1]), weight=ones(2)), ValueError, "must equal to weight's class"),
    (lambda: F.nll_loss(ones(3), paddle.to_tensor([1, 2, 3])), ValueError, "Expected 2 or more dimensions"),
    (lambda: F.embedding(paddle.to_tensor([1.0]), ones(3, 2)), NotImplementedError, "must be int64 or int32"),
    (lambda: F.triplet_margin_loss(ones(2), ones(2), ones(3)), ValueError, "the inputs must have one shape"),
    (lambda: F.gaussian_nll_loss(ones(2), ones(2), ones(2) * -1), ValueError, "variance has negative entry"),
    (lambda: nn.utils.vector_to_parameters(ones(3), nn.Linear(2, 2).parameters()), ValueError, "have 6 values, but the vector 3"),
]


class Refused(unittest.TestCase):
    def test_messages(self):
        for i, (call, kind, words) in enumerate(REFUSED):
            with self.subTest(words, number=i), self.assertRaisesRegex(kind, words):
                call()

    def test_in_programs(self):
        paddle.enable_static()
        try:
            with self.assertRaisesRegex(NotImplementedError, "Orthogonal in a program: Skiff has no op qr"):
                nn.Linear(2, 2, weight_attr=init.Orthogonal())
            with self.assertRaisesRegex(RuntimeError, "types of layers are changed in dynamic graphs"):
                nn.Linear(2, 2).to(dtype="float64")
        finally:
            paddle.disable_static()


if __name__ == "__main__":
    unittest.main()
