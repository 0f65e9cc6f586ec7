"""The models of tests/fixtures/models: every file here has a list `MODELS` of some families'."""

from importlib import import_module
from pkgutil import iter_modules

from random_model import Model

MODELS: list[Model] = [model for module in sorted(iter_modules(__path__), key=lambda found: found.name)
                       for model in import_module(f"families.{module.name}").MODELS]
