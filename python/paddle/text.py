"""paddle.text: the best path of tags."""
from paddle import _names
from paddle._op import fill, need
from paddle.nn.layer.layers import Layer


def viterbi_decode(potentials, transition_params, lengths, include_bos_eos_tag=True, name=None):
    """(scores [batch], paths [batch, longest]) of the best tags; potentials [batch, length, tags], transitions [tags, tags]. With
    include_bos_eos_tag the last tag begins and the last but one ends every sequence."""
    from paddle.tensor.manipulation import cast, slice, squeeze, stack, unsqueeze
    from paddle.tensor.picking import take_along_axis
    from paddle.tensor.search import argmax, where
    need(potentials, "potentials", "viterbi_decode"), need(transition_params, "transition_params", "viterbi_decode")
    steps, tags = potentials.shape[1], potentials.shape[2]
    lengths = cast(lengths, "int64")

    def step_of(i):
        return squeeze(slice(potentials, [1], [i], [i + 1]), [1])

    def longer_than(i):
        return unsqueeze(lengths > fill([1], i, "int64"), [1])

    def row(i):
        return slice(transition_params, [0], [i], [i + 1])

    score, back = step_of(0), []
    if include_bos_eos_tag:
        score = score + row(tags - 1)
        score = where(unsqueeze(lengths == fill([1], 1, "int64"), [1]), score + row(tags - 2), score)
    for i in range(1, steps):
        paths = unsqueeze(score, [2]) + unsqueeze(transition_params, [0])
        best = argmax(paths, axis=1)
        moved = squeeze(take_along_axis(paths, unsqueeze(best, [1]), 1), [1]) + step_of(i)
        if include_bos_eos_tag:
            moved = where(unsqueeze(lengths == fill([1], i + 1, "int64"), [1]), moved + row(tags - 2), moved)
        score = where(longer_than(i), moved, score)
        back.append(best)
    last = argmax(score, axis=1)
    out, tag = [], unsqueeze(last, [1])
    best_score = squeeze(take_along_axis(score, tag, 1), [1])
    none = tag * 0
    for i in range(steps - 1, -1, -1):  # from the end; behind the end of a sequence there is tag 0
        inside = longer_than(i)
        out.insert(0, squeeze(where(inside, tag, none), [1]))
        if i:
            tag = where(inside, take_along_axis(back[i - 1], tag, 1), tag)
    longest = int(lengths.numpy().max()) if hasattr(lengths, "numpy") and hasattr(lengths, "_detach") else steps
    return best_score, stack(out[:longest], axis=1)


class ViterbiDecoder(Layer):
    """viterbi_decode as a layer that keeps the transitions."""

    def __init__(self, transitions, include_bos_eos_tag=True, name=None):
        super(ViterbiDecoder, self).__init__()
        self.transitions, self.include_bos_eos_tag, self.name = transitions, include_bos_eos_tag, name

    def forward(self, potentials, lengths):
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag, self.name)


__getattr__ = _names.guard(__name__)
