/* paddle.*: random numbers. Notation: calls/row.h. */
FUNCTION("uniform", "shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None",
         "uniform_random: shape|ShapeTensor|ShapeTensorList=shape min=min max=max seed=seed "
         "dtype=float_type(dtype,'uniform/rand') -> Out!",
         "Between min and max.")
FUNCTION("rand", "shape, dtype=None, name=None",
         "uniform_random: shape|ShapeTensor|ShapeTensorList=shape min=0.0 max=1.0 seed=0 "
         "dtype=float_type(dtype,'uniform/rand') -> Out! as uniform",
         "Between 0 and 1.")
FUNCTION("tensor.gaussian", "shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None",
         "gaussian_random: shape|ShapeTensor|ShapeTensorList=shape mean=mean std=std seed=seed "
         "dtype=float_type(dtype,'gaussian/standard_normal/randn/normal') -> Out! as gaussian",
         "Of the normal distribution.")
FUNCTION("randn standard_normal", "shape, dtype=None, name=None",
         "gaussian_random: shape|ShapeTensor|ShapeTensorList=shape mean=0.0 std=1.0 seed=0 "
         "dtype=float_type(dtype,'gaussian/standard_normal/randn/normal') -> Out! as gaussian",
         "Of the standard normal distribution.")
FUNCTION("randint", "low=0, high=None, shape=[1], dtype=None, name=None",
         "randint: shape|ShapeTensor|ShapeTensorList=shape low=low(low,high) high=high(low,high) "
         "seed=0 dtype=dtype(dtype,'int64') -> Out!",
         "Integers from low to high - 1.")
FUNCTION("randperm", "n, dtype='int64', name=None",
         "randperm: some(n) n=n dtype=dtype(dtype) seed=0 -> Out!", "0 .. n-1 in random order.")
FUNCTION("multinomial", "x, num_samples=1, replacement=False, name=None",
         "multinomial: X=x num_samples=num_samples replacement=replacement -> Out!",
         "Draws by the weights in x.")
FUNCTION("bernoulli", "x, name=None", "bernoulli: X=x -> Out! as randint",
         "1 with the probability in x, else 0.")
FUNCTION("poisson", "x, name=None", "poisson: X=x -> Out!",
         "Of Poisson's distribution with the mean in x.")
