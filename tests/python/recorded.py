"""Nested values compared with those that real Paddle gave."""
import numpy as np


def flat(value):
    """Numbers, texts and truths of nested lists and dicts, one after the other."""
    if isinstance(value, dict):
        value = sorted(value.items())
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (list, tuple)) else [value]


def compare(test, have, want, rtol=2e-5, atol=2e-6):
    """All that is no float is the same, floats are close."""
    have, want = flat(have), flat(want)
    number = [isinstance(v, float) for v in want]
    test.assertEqual([v for v, n in zip(have, number) if not n], [v for v, n in zip(want, number) if not n])
    test.assertEqual(len(have), len(want))
    np.testing.assert_allclose(*[[v for v, n in zip(of, number) if n] for of in (have, want)], rtol=rtol, atol=atol)
