"""Trained models in numpy alone: all that ``dpmpi predict`` says, from the model file."""

from .model import Model, load_model

__all__ = ["Model", "load_model"]
