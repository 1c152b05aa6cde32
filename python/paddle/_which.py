"""Which Paddle a script means: 1.8 once it has used paddle.fluid, else 2.6. Skiff's own modules use each other; only what
others ask for counts."""
_seen = {"fluid": False}


def asked_for_fluid(frame):
    """frame: who asks for paddle.fluid or something in it; the machinery of import asks for others."""
    if _seen["fluid"]:
        return
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame is not None else "paddle"
    if name != "paddle" and not name.startswith(("paddle.", "skiff.", "importlib")):
        _seen["fluid"] = True


def version():
    return "1.8.5" if _seen["fluid"] else "2.6.2"
