"""The version of tilegen, once."""

VERSION = "0.1.0"
