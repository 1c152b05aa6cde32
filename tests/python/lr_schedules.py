"""Every schedule of paddle.optimizer.lr; runs on Paddle 2.6.2 too, where schedules.json comes from:

    python tests/python/lr_schedules.py > tests/python/lr_schedules.json
"""
import json
import sys

STEPS = 30
METRICS = [1.0, 0.9, 0.9, 0.91, 0.8, 0.8, 0.8, 0.8, 0.8, 0.79, 0.79, 0.79, 0.79, 0.79, 0.79] * 2

CASES = {
    "NoamDecay": lambda lr: lr.NoamDecay(d_model=100, warmup_steps=10, learning_rate=0.5),
    "PiecewiseDecay": lambda lr: lr.PiecewiseDecay([3, 6, 20], [0.1, 0.05, 0.01, 0.001]),
    "NaturalExpDecay": lambda lr: lr.NaturalExpDecay(0.5, 0.1),
    "InverseTimeDecay": lambda lr: lr.InverseTimeDecay(0.5, 0.1),
    "PolynomialDecay": lambda lr: lr.PolynomialDecay(0.5, 20, end_lr=0.01, power=2.0),
    "PolynomialDecay cycle": lambda lr: lr.PolynomialDecay(0.5, 7, cycle=True),
    "LinearWarmup": lambda lr: lr.LinearWarmup(0.5, 20, 0.0, 0.5),
    "LinearWarmup piecewise": lambda lr: lr.LinearWarmup(lr.PiecewiseDecay([3, 6], [0.1, 0.2, 0.3]), 9, 0.0, 0.1),
    "LinearWarmup cosine": lambda lr: lr.LinearWarmup(lr.CosineAnnealingDecay(0.5, 10), 5, 0.0, 0.5),
    "ExponentialDecay": lambda lr: lr.ExponentialDecay(0.5, 0.9),
    "MultiStepDecay": lambda lr: lr.MultiStepDecay(0.5, [2, 4, 25], gamma=0.8),
    "StepDecay": lambda lr: lr.StepDecay(0.5, 5, gamma=0.8),
    "LambdaDecay": lambda lr: lr.LambdaDecay(0.5, lambda x: 0.95 ** x),
    "MultiplicativeDecay": lambda lr: lr.MultiplicativeDecay(0.5, lambda x: 0.95 + 0.001 * x),
    "CosineAnnealingDecay": lambda lr: lr.CosineAnnealingDecay(0.5, 10, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda lr: lr.CosineAnnealingWarmRestarts(0.5, 4),
    "CosineAnnealingWarmRestarts longer": lambda lr: lr.CosineAnnealingWarmRestarts(0.5, 3, T_mult=2, eta_min=0.01),
    "OneCycleLR": lambda lr: lr.OneCycleLR(1.0, 40, divide_factor=5.0, end_learning_rate=0.05),
    "OneCycleLR linear three": lambda lr: lr.OneCycleLR(1.0, 31, phase_pct=0.3, anneal_strategy="linear", three_phase=True),
    "CyclicLR": lambda lr: lr.CyclicLR(0.1, 1.0, 4),
    "CyclicLR triangular2": lambda lr: lr.CyclicLR(0.1, 1.0, 3, 5, mode="triangular2"),
    "CyclicLR exp_range": lambda lr: lr.CyclicLR(0.1, 1.0, 3, 5, mode="exp_range", exp_gamma=0.97),
    "CyclicLR own": lambda lr: lr.CyclicLR(0.1, 1.0, 4, scale_fn=lambda x: 0.95 ** x, scale_mode="iterations"),
    "LinearLR": lambda lr: lr.LinearLR(0.5, 20),
    "LinearLR down": lambda lr: lr.LinearLR(0.5, 10, start_factor=1.0, end_factor=0.1),
    "ReduceOnPlateau": lambda lr: lr.ReduceOnPlateau(1.0, factor=0.5, patience=2, cooldown=1),
    "ReduceOnPlateau max abs": lambda lr: lr.ReduceOnPlateau(1.0, mode="max", threshold=0.05, threshold_mode="abs", factor=0.5,
                                                             patience=3, min_lr=0.1),
}


def values(schedule):
    """The first rates, one step between two; ReduceOnPlateau steps with METRICS."""
    out = []
    for i in range(STEPS):
        out.append(schedule())
        schedule.step(METRICS[i]) if "Plateau" in type(schedule).__name__ else schedule.step()
    return out


def jumps(schedule):
    """The rates of some epochs, out of order."""
    out = []
    for epoch in (7, 3, 12, 0, 29):
        schedule.step(epoch)
        out.append(schedule())
    return out


if __name__ == "__main__":
    import numpy  # noqa: F401 (before paddle)
    import paddle
    module = paddle.optimizer.lr
    json.dump({name: {"steps": values(make(module)), "jumps": None if "Plateau" in name else jumps(make(module)),
                      "keys": sorted(make(module).state_dict())} for name, make in CASES.items()}, sys.stdout, indent=0)
