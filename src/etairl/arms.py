"""Arms of a study by their names: which one the others stand beside."""

DEFAULT = "default"
"""of a study of one's own: nothing but the settings of all its runs"""
PENALISED = "penalised"
"""of the studies of the paper: its preset with a discriminator that has a gradient penalty"""


BASE_ARMS = (DEFAULT, PENALISED)


def is_base(arm: str) -> bool:
    """Do the other arms of its study stand beside this one?"""
    return arm in BASE_ARMS
