"""Roles and the base of fleets."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("role_maker", "fleet_base"))
