"""fluid.dygraph.BackwardStrategy."""


class BackwardStrategy(object):
    """sort_sum_gradient: gradients are always added up in the order of the forward pass here."""

    def __init__(self):
        self.sort_sum_gradient = False
