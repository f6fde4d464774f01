"""Mechanisms and trained models that come with combred: the package `combred.data`."""

from pathlib import Path

FOLDER = Path(__file__).parent
