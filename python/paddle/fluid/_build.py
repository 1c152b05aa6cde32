"""The net that all layers append to: one per process, as Fluid's default programs are."""
from skiff import _native

net = _native.Net()
