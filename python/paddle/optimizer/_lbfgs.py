"""paddle.optimizer.LBFGS: a quasi-Newton method for small models (Nocedal, Wright: Numerical Optimization, 2nd edition,
algorithms 7.4, 3.5 and 3.6). It asks for losses itself, so step() is given a function. The numbers and the order of the
questions are those of Paddle 2.6.2."""
from collections import namedtuple

import numpy as np

import paddle
from paddle.optimizer.lr import LRScheduler

#: A step of length `at` along the direction: the loss, its gradient, and the gradient along the direction.
Point = namedtuple("Point", "at loss grad slope")

ENOUGH_FALL, ENOUGH_FLATNESS, MOST_STEPS = 1e-4, 0.9, 25


def _cubic_minimum(a, b, low, high):
    """Where the cubic through two points has its minimum, within [low, high]."""
    if a.at > b.at:
        a, b = b, a
    with np.errstate(all="ignore"):
        d1 = a.slope + b.slope - 3 * np.float64(a.loss - b.loss) / np.float64(a.at - b.at)
        square = d1 * d1 - a.slope * b.slope
        if not square >= 0:
            return (low + high) / 2.0
        d2 = np.sqrt(square)
        at = b.at - (b.at - a.at) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(at, low), high)


class _Line(object):
    """The search along one direction for a point that satisfies the strong Wolfe conditions."""

    def __init__(self, evaluate, start, longest, tolerance=1e-9):
        self._evaluate, self._start, self._longest, self._tolerance = evaluate, start, longest, tolerance
        self.evaluations, self._steps = 0, 0

    def _at(self, length):
        self.evaluations += 1
        return self._evaluate(length)

    def _too_high(self, point):
        return point.loss > self._start.loss + ENOUGH_FALL * point.at * self._start.slope

    def _flat(self, point):
        return abs(point.slope) <= -ENOUGH_FLATNESS * self._start.slope

    def find(self, length):
        before, now = self._start, self._at(length)
        while self._steps < MOST_STEPS:
            if self._too_high(now) or (self._steps > 1 and now.loss >= before.loss):
                return self._zoom([before, now])
            if self._flat(now):
                return now
            if now.slope >= 0:
                return self._zoom([before, now])
            length = _cubic_minimum(before, now, now.at + 0.01 * (now.at - before.at), now.at * 10)
            before, now = now, self._at(length)
            self._steps += 1
        return min(self._start, now, key=lambda point: point.loss)

    def _zoom(self, ends):
        """A point between the two ends; the one with the lower loss is always kept."""
        lower, stuck = self._lower(ends), False
        while self._steps < MOST_STEPS and abs(ends[1].at - ends[0].at) * self._longest >= self._tolerance:
            length, stuck = self._inside(ends, stuck)
            now = self._at(length)
            self._steps += 1
            if self._too_high(now) or now.loss >= ends[lower].loss:
                ends[1 - lower] = now
                lower = self._lower(ends)
                continue
            if self._flat(now):
                return now
            if now.slope * (ends[1 - lower].at - ends[lower].at) >= 0:
                ends[1 - lower] = ends[lower]
            ends[lower] = now
        return ends[lower]

    @staticmethod
    def _lower(ends):
        return 0 if ends[0].loss <= ends[1].loss else 1

    @staticmethod
    def _inside(ends, stuck):
        """The next length, a tenth away from an end that it comes close to for the second time; whether it is close."""
        low, high = sorted((ends[0].at, ends[1].at))
        at, tenth = _cubic_minimum(ends[0], ends[1], low, high), 0.1 * (high - low)
        if min(high - at, at - low) >= tenth:
            return at, False
        if not (stuck or at >= high or at <= low):
            return at, True
        return (high - tenth if abs(at - high) < abs(at - low) else low + tenth), False


class _Memory(object):
    """The last changes of place and gradient: what stands for the inverse of the second derivatives."""

    def __init__(self, most, state):
        self.most, self.scale = most, state.get("H_diag", 1.0)
        self.changes = list(zip(state.get("old_sk", ()), state.get("old_yk", ()), state.get("ro", ())))

    def state(self):
        places, grads, inverses = ([change[i] for change in self.changes] for i in range(3))
        return {"old_sk": places, "old_yk": grads, "ro": inverses, "H_diag": self.scale}

    def add(self, place, grad):
        product = float(grad.dot(place))
        if product <= 1e-10:
            return
        self.changes = self.changes[-(self.most - 1):] if self.most > 1 else []
        self.changes.append((place, grad, 1.0 / product))
        self.scale = product / float(grad.dot(grad))

    def direction(self, grad):
        toward, shares = -grad, []
        for place, change, inverse in reversed(self.changes):
            shares.append(float(place.dot(toward)) * inverse)
            toward = toward - change * grad.dtype.type(shares[-1])
        toward = toward * grad.dtype.type(self.scale)
        for (place, change, inverse), share in zip(self.changes, reversed(shares)):
            toward = toward + place * grad.dtype.type(share - float(change.dot(toward)) * inverse)
        return toward


class _Flat(object):
    """All parameters of an optimizer as one vector."""

    def __init__(self, parameters):
        self._parameters = parameters
        if not parameters:
            raise ValueError("LBFGS: there are no parameters; give those of the model, parameters=model.parameters()")
        kinds = {parameter.dtype for parameter in parameters}
        if len(kinds) > 1:
            raise TypeError("LBFGS: the parameters must have one type, but are of %s" % ", ".join(sorted(str(k) for k in kinds)))

    def values(self):
        return np.concatenate([parameter.numpy().ravel() for parameter in self._parameters])

    def set(self, vector):
        at = 0
        for parameter in self._parameters:
            size = int(np.prod(parameter.shape, dtype="int64"))
            parameter.set_value(vector[at:at + size].reshape(parameter.shape))
            at += size

    def gradient(self):
        parts = []
        for parameter in self._parameters:
            grad = parameter.grad
            if grad is not None and grad.is_selected_rows():
                raise TypeError("LBFGS: the gradient of parameter %s has rows; make its table with sparse=False" % parameter.name)
            parts.append((parameter if grad is None else grad).numpy().ravel() * (0 if grad is None else 1))
        return np.concatenate(parts)


def _as_arrays(value):
    """What paddle.load has made tensors of."""
    if isinstance(value, (list, tuple)):
        return [_as_arrays(v) for v in value]
    return value.numpy() if isinstance(value, paddle.Tensor) else value


def make(base):
    """The class, on top of paddle.optimizer.Optimizer."""

    class LBFGS(base):
        """step(closure): closure clears the gradients, computes the loss, calls backward() and returns the loss."""

        def __init__(self, learning_rate=1.0, max_iter=20, max_eval=None, tolerance_grad=1e-07, tolerance_change=1e-09,
                     history_size=100, line_search_fn=None, parameters=None, weight_decay=None, grad_clip=None, name=None):
            if line_search_fn not in (None, "strong_wolfe"):
                raise RuntimeError("only 'strong_wolfe' is supported")
            self._type = "sgd"      # whose clear_grad serves
            base.__init__(self, learning_rate, parameters, weight_decay, grad_clip, name)
            if not self._eager:
                raise RuntimeError("LBFGS is for eager mode: it runs the model as often as it needs to")
            self.max_iter, self.history_size, self.line_search_fn = max_iter, history_size, line_search_fn
            self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
            self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
            self.state = {}
            self._flat = _Flat(self._every())

        def step(self, closure):
            """Up to max_iter iterations; gives the loss before the first of them."""
            with paddle.no_grad():
                return _Step(self, closure).run()

        def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
            raise NotImplementedError("LBFGS optimizer does not use this way to minimize loss. Please refer 'Examples' of LBFGS() "
                                      "for usage.")

        def state_dict(self):
            """{"state": the state that the next step continues from}; func_evals and n_iter count."""
            return {"state": dict(self.state)}

        def set_state_dict(self, state_dict):
            self.state = {key: _as_arrays(value) for key, value in state_dict["state"].items()}

        set_dict = set_state_dict

    LBFGS.__module__, LBFGS.__qualname__ = "paddle.optimizer", "LBFGS"
    return LBFGS


class _Step(object):
    """One call of step()."""

    def __init__(self, owner, closure):
        self._owner, self._closure, self._flat, self._state = owner, closure, owner._flat, owner.state
        rate = owner._learning_rate
        self._rate = rate() if isinstance(rate, LRScheduler) else float(rate)
        self._evaluations = 0

    def _ask(self):
        with paddle.enable_grad():
            loss = self._closure()
        self._evaluations += 1
        self._state["func_evals"] = self._state.get("func_evals", 0) + 1
        return loss

    def _solved(self, grad):
        return bool(np.abs(grad).max() <= self._owner.tolerance_grad)

    def run(self):
        first = self._ask()
        here = Point(0.0, float(first), self._flat.gradient(), 0.0)
        if self._solved(here.grad):
            self._state.setdefault("n_iter", 0)
            return first
        memory = _Memory(self._owner.history_size, self._state)
        toward, length, before = (self._state.get(key) for key in ("d", "alpha", "prev_flat_grad"))
        for left in range(self._owner.max_iter - 1, -1, -1):
            if before is None:
                toward, length = -here.grad, self._rate * min(1.0, 1.0 / float(np.abs(here.grad).sum()))
            else:
                memory.add(toward * here.grad.dtype.type(length), here.grad - before)
                toward, length = memory.direction(here.grad), self._rate
            before = here.grad
            self._state["n_iter"] = self._state.get("n_iter", 0) + 1
            slope = float(here.grad.dot(toward))
            if slope > -self._owner.tolerance_change:
                break
            was, here = here.loss, self._advance(here._replace(slope=slope), toward, length, left)
            length = here.at
            if self._ends(here, was, toward * length):
                break
        self._state.update(memory.state(), d=toward, alpha=length, prev_flat_grad=before, prev_loss=here.loss)
        return first

    def _advance(self, here, toward, length, left):
        """The point that is gone to. Without a line search the last iteration does not ask for the loss there."""
        place, kind = self._flat.values(), here.grad.dtype.type

        def evaluate(at):
            self._flat.set(place + toward * kind(at))
            loss, grad = float(self._ask()), self._flat.gradient()
            return Point(at, loss, grad, float(grad.dot(toward)))
        if self._owner.line_search_fn is not None:
            found = _Line(evaluate, here._replace(at=0.0), float(np.abs(toward).max())).find(length)
            self._flat.set(place + toward * kind(found.at))
            return found
        if left:
            return evaluate(length)
        self._flat.set(place + toward * kind(length))
        return here._replace(at=length)

    def _ends(self, here, was, moved):
        change = self._owner.tolerance_change
        return (self._solved(here.grad) or bool(np.abs(moved).max() <= change) or abs(here.loss - was) < change or
                self._evaluations >= self._owner.max_eval)
