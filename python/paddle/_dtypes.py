"""paddle.float32 and the other data types."""
from paddle.fluid.core import BY_DTYPE

for _name, _type in BY_DTYPE.items():
    globals()[_name] = _type
