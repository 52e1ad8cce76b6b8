"""From a posterior to a certificate: the budget, the risk, the KL, and issuing.

The package is named like what it does, so that it can be called: `pacbound.certify(net, data)` is
`pacbound.api.certify`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__: list[str] = []


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from pacbound.api import certify

        return certify(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
