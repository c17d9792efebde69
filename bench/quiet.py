"""Whether a machine was quiet enough for a verdict: what others do there is in every figure."""
import os

QUIET_LOAD_MAX = 0.5  # Programs that want a core on the average of the minute before the start; an idle machine has 0.1.


def load_now():
    return os.getloadavg()[0]


def said(agrees, load):
    """`agrees`: None, when it was not measured. `load`: that at the start; None, when nobody has kept it."""
    if agrees is None:
        return "not measured"
    if load is None:
        return "not judged: load not known"
    if load > QUIET_LOAD_MAX:
        return f"not judged: load {load:.1f}"
    return "agrees" if agrees else "does not agree"
